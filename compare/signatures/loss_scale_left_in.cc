// SPDX-License-Identifier: Apache-2.0
// loss_scale_left_in: a gradient that should be free of the loss scale, or the norm of them, is the
// reference's times the recorded scale (never divided by it), or over it (divided twice). By
// sketches, so at `stats` too. A scale that is the size of a mesh axis as well is left to
// constant_ratio.
#include <cmath>

#include "compare/numbers.h"
#include "compare/signatures/pairs.h"

namespace nanhunt::compare {
namespace {

constexpr double kOff = 0.01;   // relative, of ratio and scale: a healthy deviation
constexpr double kLeft = 0.25;  // of the candidate's norm, as in constant_ratio

// The scale that all ranks of the step recorded; nullopt: none, or several.
std::optional<double> recorded_scale(const SideStep& side) {
  std::optional<double> scale;
  for (const auto& record : side.step->records) {
    if (record.what.role != "loss_scale") continue;
    const auto value = scalar_of(record);
    if (!value || (scale && *scale != *value)) return std::nullopt;
    scale = value;
  }
  return scale;
}

std::optional<double> ratio_of(const SignatureInput& input, const LogicalPair& pair) {
  if (pair.candidate->what.role == "grad_norm") {
    const auto mine = scalar_of(input.side.record(input.draft.record));
    const double other = pair.reference->statistics.sum;
    if (!mine || pair.reference->count != 1 || other == 0) return std::nullopt;
    return *mine / other;
  }
  if (!has_ratio(*pair.candidate, *pair.reference)) return std::nullopt;
  const Fit fit = fit_sketches(sketch_of_wrong(input, pair), pair.reference->print.sketch);
  if (fit.left > kLeft * std::abs(fit.ratio)) return std::nullopt;
  return fit.ratio;
}

}  // namespace

std::optional<Signature> loss_scale_left_in(const SignatureInput& input) {
  const auto pair = logical_pair(input);
  if (!pair) return std::nullopt;
  const auto& what = pair->candidate->what;
  const bool gradient = is_gradient(what, trace::Phase::kUnscaled) ||
                        is_gradient(what, trace::Phase::kClipped) || what.role == "grad_norm";
  const auto scale = gradient ? recorded_scale(input.side) : std::nullopt;
  if (!scale || *scale <= 0 || *scale == 1) return std::nullopt;
  const double other_way = 1 / *scale;
  for (const int32_t n : axis_sizes(input.side)) {
    if (*scale == n || other_way == n) return std::nullopt;
  }
  const auto ratio = ratio_of(input, *pair);
  if (!ratio) return std::nullopt;
  const auto is = [&](double factor) { return std::abs(*ratio - factor) <= kOff * factor; };
  if (!is(*scale) && !is(other_way)) return std::nullopt;
  return Signature{"loss_scale_left_in", "ratio " + short_number(*ratio) + " = " +
                                             (is(*scale) ? "" : "1 over ") + "the loss scale " +
                                             short_number(*scale)};
}

}  // namespace nanhunt::compare
