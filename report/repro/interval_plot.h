// SPDX-License-Identifier: Apache-2.0
// One plot a metric of a convergence result: the interval of the mean difference B - A against
// [-margin, margin], and the difference of each pair, all in the metric's own unit.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "repro/convergence.h"

namespace nanhunt::report {

// [{"margin", "mean", "low", "high", "pairs": [difference]}], as the metrics stand. Null where
// there is no finite number: with less than two differences there is no interval.
nlohmann::json interval_plots(const repro::Convergence& result);

}  // namespace nanhunt::report
