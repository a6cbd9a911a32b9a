// SPDX-License-Identifier: Apache-2.0
// The plot of the losses of both sides by step.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "compare/verdict.h"

namespace nanhunt::report {

inline constexpr size_t kMostSeries = 8;
inline constexpr size_t kMostSteps = 2000;  // of a series; the last ones are kept

// {"series": [{"name", "points": [[step, value]]}]}. What is not finite is no point; it is told by
// non_finite_losses.
nlohmann::json loss_plot(const compare::Verdict& verdict);
// "step 3: candidate NaN"
std::vector<std::string> non_finite_losses(const compare::Verdict& verdict);

}  // namespace nanhunt::report
