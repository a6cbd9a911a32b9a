// SPDX-License-Identifier: Apache-2.0
// constant_ratio: candidate = r x reference. r is the least-squares ratio, of the values where they
// are there and else of the sketches, which are linear. |r - 1| must be outside the healthy
// deviation, and what r leaves small against it, or healthy itself (quantised operands leave
// several percent). A bias that is added after the scaled product is taken off where values are
// there, each side's own, since an update may have moved them apart; without values it is left
// over.
#include <algorithm>
#include <cmath>

#include "compare/numbers.h"
#include "compare/region_cells.h"
#include "compare/signatures/pairs.h"
#include "oracle/mesh.h"

namespace nanhunt::compare {
namespace {

constexpr double kLeft = 0.25;      // of |r - 1| ||x||
constexpr double kNoiseLeft = 0.5;  // the same, of what is healthy

std::string group_of_that_size(const SignatureInput& input, double ratio) {
  const oracle::Mesh mesh(input.side.source->facts);
  for (int a = 0; a < trace::kMeshAxes; ++a) {
    const auto axis = static_cast<trace::MeshAxis>(a);
    const int n = axis == trace::MeshAxis::kMicrobatch ? 1 : mesh.size(axis);
    if (n < 2) continue;
    const std::string size = " the size of " + std::string(trace::name_of(axis));
    if (std::abs(ratio - n) < 0.01 * n) return " =" + size;
    if (std::abs(ratio * n - 1) < 0.01) return " = 1 over" + size;
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

// What the fit may leave, of ||x||: a healthy deviation is known of the whole reference.
double may_be_left(const Fit& fit, const std::optional<oracle::Bounds>& healthy) {
  const double off = std::abs(fit.ratio - 1);
  const double noise = healthy ? std::abs(fit.ratio) * healthy->lo / fit.share : 0;
  return std::max(kLeft * off, std::min(noise, kNoiseLeft * off));
}

}  // namespace

std::optional<Signature> constant_ratio(const SignatureInput& input) {
  const auto pair = logical_pair(input);
  if (!pair || !has_ratio(*pair->candidate, *pair->reference)) return std::nullopt;
  const auto& reference = pair->reference->print;
  const auto& first = input.side.record(input.draft.record);
  const trace::Sketch sketch = covers_all(first) && !pair->candidate->partial
                                   ? print_of(first).sketch
                                   : pair->candidate->print.sketch;
  const Fit fit = fit_without_bias(input, *pair).value_or(fit_sketches(sketch, reference.sketch));
  const auto healthy = norm_bounds(input.judge, pair->candidate->what);
  if (std::abs(fit.ratio) < 1e-6 || std::abs(fit.ratio - 1) <= (healthy ? healthy->hi : 0)) {
    return std::nullopt;
  }
  if (fit.left > may_be_left(fit, healthy)) return std::nullopt;
  return Signature{"constant_ratio", "ratio " + text_of(fit.ratio) +
                                         group_of_that_size(input, fit.ratio) + ", residual " +
                                         short_number(fit.left)};
}

}  // namespace nanhunt::compare
