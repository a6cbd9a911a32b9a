// SPDX-License-Identifier: Apache-2.0
// The curves of a convergence result, for two plots: the losses of A and B, and B - A, both with
// the margin as a band. A margin is about the mean over a part of the steps, and drawn at each of
// them: early and late steps have the margins of their metrics, the smaller where they overlap, all
// others that of the whole curve. Steps that no judged metric covers have no band.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "repro/convergence.h"

namespace nanhunt::report {

inline constexpr size_t kMostPairs = 8;  // drawn one by one

std::optional<double> margin_at(const repro::Convergence& result, int64_t step);
// Which to draw one by one, from 0: those with NaN or Inf, then those whose differences are the
// largest against their margins; in the order of the pairs.
std::vector<size_t> pairs_to_draw(const repro::Convergence& result);

// {"a", "b", "low", "high", "lost": [{"name", "a", "b"}], "marks", "marked"}: lists of points
// [step, value], the means over the pairs without NaN or Inf, the band around that of A, the other
// pairs, and, on a line above all of them, where a loss is NaN or Inf: {"step", "text"}. A point
// without a finite value has null.
nlohmann::json loss_curves(const repro::Convergence& result);
// {"low", "high", "mean", "pairs": [{"name", "points"}]}, the mean only where several pairs have
// one.
nlohmann::json difference_curves(const repro::Convergence& result);

}  // namespace nanhunt::report
