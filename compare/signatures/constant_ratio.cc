// SPDX-License-Identifier: Apache-2.0
// constant_ratio: candidate = r x reference. r is the least-squares ratio of the sketches, which
// are linear; what it leaves must be small against |r - 1|, and |r - 1| outside the healthy
// deviation. A bias that is added after the scaled product is taken off both sides where values
// are there; without them it is left over, so a small share is allowed.
#include <algorithm>
#include <cmath>

#include "compare/numbers.h"
#include "compare/region_cells.h"
#include "compare/signatures/pairs.h"
#include "oracle/mesh.h"

namespace nanhunt::compare {
namespace {

constexpr double kLeft = 0.25;            // of |r - 1| ||reference||
constexpr uint64_t kFewestElements = 16;  // a scalar always has a ratio

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

struct Fit {
  double ratio = 1;
  double left = 0;  // ||candidate - ratio reference|| / ||reference||
};

Fit fit_sketches(const trace::Sketch& candidate, const trace::Sketch& reference) {
  const double size = trace::sketch_dot(reference, reference);
  const double ratio = trace::sketch_dot(candidate, reference) / size;
  const auto rest = trace::subtract(candidate, scaled(reference, ratio));
  return {ratio, std::sqrt(trace::sketch_dot(rest, rest) / size)};
}

// The site's bias where it fits the last dimension and everything has values, else nullptr.
const oracle::Logical* bias_with_values(const SignatureInput& input, const LogicalPair& pair) {
  const auto& what = pair.candidate->what;
  const auto* bias = find_logical(
      input.side, {what.step, what.site + ".bias", trace::Phase::kForward, "param", 0});
  if (what.phase != trace::Phase::kForward || bias == nullptr || pair.candidate->shape.empty() ||
      static_cast<uint64_t>(pair.candidate->shape.back()) != bias->count ||
      pair.candidate->partial || !has_values(input.side, *bias) ||
      !has_values(input.side, *pair.candidate) || !has_values(*input.reference, *pair.reference)) {
    return nullptr;
  }
  return bias;
}

// Sums in FP64 in index order: y = candidate - bias against x = reference - bias.
Fit fit_without(const oracle::Logical& bias, const SignatureInput& input, const LogicalPair& pair) {
  LogicalWindow candidate(input.side, *pair.candidate);
  LogicalWindow reference(*input.reference, *pair.reference);
  LogicalWindow term(input.side, bias);
  double xx = 0, xy = 0, yy = 0;
  for (int64_t i = 0; i < static_cast<int64_t>(pair.candidate->count); ++i) {
    const double b = term.at(i % candidate.row_length());
    const double x = reference.at(i) - b, y = candidate.at(i) - b;
    xx += x * x;
    xy += x * y;
    yy += y * y;
  }
  if (xx == 0) return {};
  const double ratio = xy / xx;
  return {ratio, std::sqrt(std::max(0.0, yy - ratio * xy) / xx)};
}

}  // namespace

std::optional<Signature> constant_ratio(const SignatureInput& input) {
  const auto pair = logical_pair(input);
  if (!pair || pair->reference->count < kFewestElements) return std::nullopt;
  const auto& reference = pair->reference->print;
  const auto& first = input.side.record(input.draft.record);
  const trace::Sketch sketch = covers_all(first) && !pair->candidate->partial
                                   ? print_of(first).sketch
                                   : pair->candidate->print.sketch;
  if (trace::sketch_dot(reference.sketch, reference.sketch) == 0) return std::nullopt;
  const auto* bias = bias_with_values(input, *pair);
  const Fit fit =
      bias != nullptr ? fit_without(*bias, input, *pair) : fit_sketches(sketch, reference.sketch);
  const double off = std::abs(fit.ratio - 1);
  const auto bounds = norm_bounds(input.judge, pair->candidate->what);
  if (std::abs(fit.ratio) < 1e-6 || off <= (bounds ? bounds->hi : 0)) return std::nullopt;
  if (fit.left > kLeft * off) return std::nullopt;
  return Signature{"constant_ratio", "ratio " + short_number(fit.ratio) +
                                         group_of_that_size(input, fit.ratio) + ", residual " +
                                         short_number(fit.left)};
}

}  // namespace nanhunt::compare
