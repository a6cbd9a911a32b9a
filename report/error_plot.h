// SPDX-License-Identifier: Apache-2.0
// The plot "error by layer and phase": measured / allowed of each judged place, in happens-before
// order, for a logarithmic scale.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "compare/verdict.h"

namespace nanhunt::report {

inline constexpr size_t kMostPoints = 4000;

// {"points": [...], "floor", "top"}: powers of ten that hold all ratios; points without a ratio lie
// on them: on `floor` what does not differ at all, on `top` findings whose rule has no bound to
// divide by, and NaN and Inf. Points come from the verdict's measurements, or, in a result that has
// none, from its findings. Of more than kMostPoints, findings are kept first.
nlohmann::json error_plot(const compare::Verdict& verdict);

// The layer that a site belongs to: up to its first number, "decoder.layers.3"; without one its
// first word.
std::string layer_of(const std::string& site);

}  // namespace nanhunt::report
