// SPDX-License-Identifier: Apache-2.0
// constant_ratio: candidate = r x reference. r is the least-squares ratio, of the values where they
// are there and else of the sketches, which are linear. |r - 1| must be outside the healthy
// deviation, and what r leaves small against it and against |r|, or healthy itself (quantised
// operands leave several percent): the rest of a tensor that lost most of its terms is small, and
// no multiple of the reference. A bias that is added after the scaled product is taken off where
// values are there, each side's own, since an update may have moved them apart; without values it
// is left over. Where there is no reference, or none of that place, and the values do not follow
// from their operands, what these give stands for it.
#include <algorithm>
#include <cmath>

#include "compare/numbers.h"
#include "compare/region_cells.h"
#include "compare/signatures/pairs.h"
#include "oracle/replay/recompute.h"

namespace nanhunt::compare {
namespace {

constexpr double kLeft = 0.25;      // of |r - 1| ||x||, and of |r| ||x||
constexpr double kNoiseLeft = 0.5;  // the same, of what is healthy

// What a factor of the size of a group says about a sum over it.
std::string reading_of(const trace::What& what, const std::string& axes, bool too_large) {
  const bool reduced =
      what.role.find("grad") != std::string::npos || what.phase == trace::Phase::kLoss;
  if (!reduced) return "";
  return too_large ? " (not averaged over " + axes + ", or summed once too often)"
                   : " (averaged over " + axes + " where the sum is meant, or one share of it)";
}

std::string group_of_that_size(const SignatureInput& input, double ratio) {
  const auto& what = input.draft.origin.finding.what;
  for (const int32_t n : axis_sizes(input.side)) {
    const bool large = std::abs(ratio - n) < 0.01 * n;
    if (!large && std::abs(ratio * n - 1) >= 0.01) continue;
    const std::string axes = axes_of_size(input.side, n);
    return std::string(large ? " = the size of " : " = 1 over the size of ") + axes +
           reading_of(what, axes, large);
  }
  return "";
}

std::string text_of(double ratio) {
  if (std::abs(ratio - 1) >= 1e-3) return short_number(ratio);
  return (ratio < 1 ? "1 - " : "1 + ") + short_number(std::abs(ratio - 1));
}

// The site's bias on that side where it fits the last dimension and has values, else nullptr.
const oracle::Logical* bias_with_values(const SideStep& side, const oracle::Logical& output) {
  const auto& what = output.what;
  const auto* bias =
      find_logical(side, {what.step, what.site + ".bias", trace::Phase::kForward, "param", 0});
  if (bias == nullptr || output.shape.empty() ||
      static_cast<uint64_t>(output.shape.back()) != bias->count || !has_values(side, *bias)) {
    return nullptr;
  }
  return bias;
}

// Sums in FP64 in index order. nullopt without values or without a bias on both sides.
std::optional<Fit> fit_without_bias(const SignatureInput& input, const LogicalPair& pair) {
  if (pair.candidate->what.phase != trace::Phase::kForward || pair.candidate->partial ||
      !has_values(input.side, *pair.candidate) || !has_values(*input.reference, *pair.reference)) {
    return std::nullopt;
  }
  const auto* y_bias = bias_with_values(input.side, *pair.candidate);
  const auto* x_bias = bias_with_values(*input.reference, *pair.reference);
  if (y_bias == nullptr || x_bias == nullptr) return std::nullopt;
  LogicalWindow candidate(input.side, *pair.candidate);
  LogicalWindow reference(*input.reference, *pair.reference);
  LogicalWindow y_term(input.side, *y_bias), x_term(*input.reference, *x_bias);
  double xx = 0, xy = 0, yy = 0, whole = 0;
  for (int64_t i = 0; i < static_cast<int64_t>(pair.candidate->count); ++i) {
    const int64_t channel = i % candidate.row_length();
    const double with_bias = reference.at(i);
    const double x = with_bias - x_term.at(channel), y = candidate.at(i) - y_term.at(channel);
    whole += with_bias * with_bias;
    xx += x * x;
    xy += x * y;
    yy += y * y;
  }
  if (xx == 0 || whole == 0) return Fit{};
  const double ratio = xy / xx;
  return Fit{ratio, std::sqrt(std::max(0.0, yy - ratio * xy) / xx), std::sqrt(xx / whole)};
}

// Values of the bias that the record links to, else empty.
std::vector<double> linked_bias(const SideStep& side, const trace::Record& record) {
  for (const trace::Link& link : record.links) {
    const int index = side.step->find(record.where.rank, link.sequence);
    if (index < 0) continue;
    const auto& operand = side.record(index);
    const bool bias = operand.what.role == "param" && operand.what.site.ends_with(".bias");
    if (bias && operand.has_values) return side.source->reader->read_doubles(operand);
  }
  return {};
}

// What the fit may leave, of ||x||: a healthy deviation is known of the whole reference.
double may_be_left(const Fit& fit, const std::optional<oracle::Bounds>& healthy) {
  const double ratio = std::abs(fit.ratio), off = std::min(std::abs(fit.ratio - 1), ratio);
  const double noise = healthy ? ratio * healthy->lo / fit.share : 0;
  return std::max(kLeft * off, std::min(noise, kNoiseLeft * off));
}

std::optional<Signature> ratio_signature(const SignatureInput& input, const Fit& fit,
                                         const std::optional<oracle::Bounds>& healthy) {
  if (std::abs(fit.ratio) < 1e-6 || std::abs(fit.ratio - 1) <= (healthy ? healthy->hi : 0)) {
    return std::nullopt;
  }
  if (fit.left > may_be_left(fit, healthy)) return std::nullopt;
  return Signature{"constant_ratio", "ratio " + text_of(fit.ratio) +
                                         group_of_that_size(input, fit.ratio) + ", residual " +
                                         short_number(fit.left)};
}

}  // namespace

std::optional<Fit> fit_to_operands(const SignatureInput& input) {
  const auto& record = input.side.record(input.draft.record);
  if (input.draft.origin.finding.rule != oracle::kLocalReplay) return std::nullopt;
  const auto* reader = input.side.source->reader;
  std::string why_not;
  const auto expected =
      oracle::recompute(oracle::ReplayIndex(*input.side.step), *reader, record, why_not);
  if (!expected) return std::nullopt;
  const auto found = oracle::read_tensor(*reader, record).values;
  std::vector<double> bias = linked_bias(input.side, record);
  if (bias.empty()) bias.push_back(0);
  double xx = 0, xy = 0, yy = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    const double x = expected->values[i] - bias[i % bias.size()];
    const double y = found[i] - bias[i % bias.size()];
    if (!std::isfinite(x) || !std::isfinite(y)) return std::nullopt;
    xx += x * x;
    xy += x * y;
    yy += y * y;
  }
  if (xx == 0) return std::nullopt;
  const double ratio = xy / xx;
  return Fit{ratio, std::sqrt(std::max(0.0, yy - ratio * xy) / xx), 1};
}

std::optional<Signature> constant_ratio(const SignatureInput& input) {
  const auto pair = logical_pair(input);
  if (!pair) {
    const auto fit = fit_to_operands(input);
    return fit ? ratio_signature(input, *fit, std::nullopt) : std::nullopt;
  }
  if (!has_ratio(*pair->candidate, *pair->reference)) return std::nullopt;
  const auto& reference = pair->reference->print;
  const trace::Sketch sketch = sketch_of_wrong(input, *pair);
  const Fit fit = fit_without_bias(input, *pair).value_or(fit_sketches(sketch, reference.sketch));
  return ratio_signature(input, fit, norm_bounds(input.judge, pair->candidate->what));
}

}  // namespace nanhunt::compare
