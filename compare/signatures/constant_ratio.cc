// SPDX-License-Identifier: Apache-2.0
// constant_ratio: candidate = r x reference. r is the least-squares ratio of the sketches, which
// are linear; what it leaves must be small against |r - 1|, and |r - 1| outside the healthy
// deviation. A bias that was added after the scaled product is left over, so a small share is
// allowed.
#include <cmath>
#include <set>

#include "compare/numbers.h"
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

}  // namespace

std::optional<Signature> constant_ratio(const SignatureInput& input) {
  const auto pair = logical_pair(input);
  if (!pair || pair->reference->count < kFewestElements) return std::nullopt;
  const auto& reference = pair->reference->print;
  const auto& first = input.side.record(input.draft.record);
  const trace::Sketch sketch = covers_all(first) && !pair->candidate->partial
                                   ? print_of(first).sketch
                                   : pair->candidate->print.sketch;
  const double size = trace::sketch_dot(reference.sketch, reference.sketch);
  if (size == 0 || reference.sum_squares == 0) return std::nullopt;
  const double ratio = trace::sketch_dot(sketch, reference.sketch) / size;
  const double off = std::abs(ratio - 1);
  const auto bounds = norm_bounds(input.judge, pair->candidate->what);
  if (std::abs(ratio) < 1e-6 || off <= (bounds ? bounds->hi : 0)) return std::nullopt;
  const double left =
      std::sqrt(trace::sketch_dot(trace::subtract(sketch, scaled(reference.sketch, ratio)),
                                  trace::subtract(sketch, scaled(reference.sketch, ratio))) /
                size);
  if (left > kLeft * off) return std::nullopt;
  return Signature{"constant_ratio", "ratio " + short_number(ratio) +
                                         group_of_that_size(input, ratio) + ", residual " +
                                         short_number(left)};
}

}  // namespace nanhunt::compare
