// SPDX-License-Identifier: Apache-2.0
// reduced_twice, of a gradient norm: squares of replicated gradients were summed over a group of n,
// so that measured^2 = sharded + n * replicated instead of sharded + replicated.
#include <cmath>

#include "compare/numbers.h"
#include "compare/signatures/pairs.h"
#include "oracle/mesh.h"

namespace nanhunt::compare {
namespace {

constexpr double kTolerance = 1e-3;  // of the squared norm: sums in another order and type

struct Squares {
  double sharded = 0, replicated = 0;
};

// Sums of squares of the gradients that the norm is taken of, told by their placement on one axis.
Squares squares(const SideStep& side, trace::MeshAxis axis) {
  Squares result;
  for (const auto& logical : side.logicals) {
    if (logical.what.phase != trace::Phase::kUnscaled || logical.what.role != "grad") continue;
    if (!logical.complete) continue;
    const auto& record = side.record(logical.pieces.front().record);
    const bool sharded =
        trace::on_axis(*record.placement, axis).kind == trace::PlacementKind::kShard;
    (sharded ? result.sharded : result.replicated) += logical.print.sum_squares;
  }
  return result;
}

}  // namespace

std::optional<Signature> norm_counts_replicas(const SignatureInput& input) {
  const auto& record = input.side.record(input.draft.record);
  if (record.what.role != "grad_norm") return std::nullopt;
  const auto norm = scalar_of(record);
  if (!norm) return std::nullopt;
  const oracle::Mesh mesh(input.side.source->facts);
  for (int a = 0; a < trace::kMeshAxes; ++a) {
    const auto axis = static_cast<trace::MeshAxis>(a);
    const int n = axis == trace::MeshAxis::kMicrobatch ? 1 : mesh.size(axis);
    if (n < 2) continue;
    const Squares sums = squares(input.side, axis);
    const double counted = sums.sharded + n * sums.replicated;
    const double right = sums.sharded + sums.replicated;
    const double measured = *norm * *norm;
    if (std::abs(measured - counted) > kTolerance * counted) continue;
    if (std::abs(measured - right) <= 3 * kTolerance * right) continue;
    return Signature{"reduced_twice", "norm^2 = " + short_number(measured) + " is sharded " +
                                          short_number(sums.sharded) + " + " + std::to_string(n) +
                                          " x replicated " + short_number(sums.replicated) +
                                          " over " + std::string(trace::name_of(axis))};
  }
  return std::nullopt;
}

}  // namespace nanhunt::compare
