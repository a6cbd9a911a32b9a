// SPDX-License-Identifier: Apache-2.0
#include "compare/norm_factor.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "compare/signatures/pairs.h"
#include "trace/dtype.h"

namespace nanhunt::compare {
namespace {

using oracle::Logical;
using trace::Phase;

double common_ratio(const SideStep& candidate, const SideStep& reference, Phase phase,
                    double rounding) {
  std::vector<double> ratios;
  for (const Logical& logical : candidate.logicals) {
    if (!is_gradient(logical.what, phase)) continue;
    const Logical* other = find_logical(reference, logical.what);
    if (other == nullptr || !has_ratio(logical, *other)) continue;
    ratios.push_back(fit_sketches(logical.print.sketch, other->print.sketch).ratio);
  }
  if (ratios.size() <= kFewestSharing) return 1;
  const double ratio = median(std::move(ratios));
  return std::abs(ratio - 1) <= rounding ? ratio : 1;
}

bool sees_clip(const SideStep& side) {
  return std::ranges::any_of(side.step->records, [](const trace::Record& record) {
    return record.what.role == "clip_factor";
  });
}

}  // namespace

NormFactor norm_factor(const SideStep& candidate, const SideStep& reference,
                       const oracle::Thresholds& thresholds) {
  uint64_t largest = 0;
  for (const Logical& logical : candidate.logicals) {
    if (is_gradient(logical.what, Phase::kUnscaled)) largest = std::max(largest, logical.count);
  }
  NormFactor factor;
  factor.rounding = thresholds["suspicious_lambda"] * std::sqrt(static_cast<double>(largest)) *
                    trace::unit_roundoff(trace::DType::kFloat32);
  factor.clipped = common_ratio(candidate, reference, Phase::kClipped, factor.rounding);
  if (!sees_clip(candidate)) {
    factor.unscaled = common_ratio(candidate, reference, Phase::kUnscaled, factor.rounding);
  }
  return factor;
}

oracle::Deviation without_norm_factor(const oracle::Deviation& deviation, const NormFactor& factor,
                                      const Logical& candidate, const Logical& reference) {
  oracle::Deviation result = deviation;
  const trace::What& what = candidate.what;
  if (what.phase == Phase::kClipped && (what.role == "grad_norm" || what.role == "clip_factor")) {
    result.norm = std::max(0.0, deviation.norm - factor.rounding);
    result.row = result.column = result.element = -1;  // of a scalar they say the same
    return result;
  }
  const double ratio = is_gradient(what, Phase::kClipped)    ? factor.clipped
                       : is_gradient(what, Phase::kUnscaled) ? factor.unscaled
                                                             : 1;
  if (ratio == 1 || reference.statistics.rms() == 0) return result;
  result.sign = 0;  // a common factor has one sign
  result.norm = std::min(deviation.norm, sketch_distance(scaled(candidate.print.sketch, 1 / ratio),
                                                         reference.print.sketch, reference.print));
  // A row, a column or an element is at most so many times the average.
  const double share =
      std::abs(ratio - 1) * reference.statistics.absmax() / reference.statistics.rms();
  if (deviation.row >= 0) result.row = std::max(0.0, deviation.row - share);
  if (deviation.column >= 0) result.column = std::max(0.0, deviation.column - share);
  if (deviation.element >= 0) result.element = std::max(0.0, deviation.element - share);
  return result;
}

}  // namespace nanhunt::compare
