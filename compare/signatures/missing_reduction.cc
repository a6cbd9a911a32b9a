// SPDX-License-Identifier: Apache-2.0
// missing_reduction: copies along a mesh axis each hold their own share; the sum of the shares over
// the axis is the reference, and no share is. Sketches are linear, so this needs no values. Equal
// copies are no shares: they were reduced, and averaged where the sum is meant (constant_ratio).
#include <algorithm>
#include <set>

#include "compare/numbers.h"
#include "compare/signatures/pairs.h"
#include "oracle/mesh.h"

namespace nanhunt::compare {
namespace {

// Of what the sum is off the reference, against what a share is off: well below 1 when the shares
// add up.
constexpr double kAddsUp = 0.2;

struct Share {
  int32_t rank;
  trace::Sketch sketch;
  uint64_t bits;
};

std::vector<Share> shares_of(const SideStep& side, const trace::What& what, int32_t microbatch) {
  std::vector<Share> shares;
  const auto found = side.step->by_what().find(what);
  if (found == side.step->by_what().end()) return shares;
  for (const int index : found->second) {
    const auto& record = side.record(index);
    if (record.where.microbatch != microbatch || !covers_all(record)) continue;
    shares.push_back({record.where.rank, print_of(record).sketch, record.raw_digest});
  }
  return shares;
}

}  // namespace

std::optional<Signature> missing_reduction(const SignatureInput& input) {
  const auto pair = logical_pair(input);
  if (!pair || pair->candidate->partial) return std::nullopt;
  const auto& first = input.side.record(input.draft.record);
  const auto shares = shares_of(input.side, first.what, first.where.microbatch);
  const oracle::Mesh mesh(input.side.source->facts);
  const auto& reference = pair->reference->print;
  for (int a = 0; a < trace::kMeshAxes; ++a) {
    const auto axis = static_cast<trace::MeshAxis>(a);
    if (axis == trace::MeshAxis::kMicrobatch || mesh.size(axis) < 2) continue;
    const auto group = mesh.group(first.where.rank, {axis});
    trace::Sketch sum{};
    size_t members = 0;
    std::set<uint64_t> distinct;
    double nearest = -1;
    for (const auto& share : shares) {
      if (std::ranges::find(group, share.rank) == group.end()) continue;
      ++members;
      distinct.insert(share.bits);
      for (int j = 0; j < trace::kSketchBuckets; ++j) sum[j] += share.sketch[j];
      const double distance = sketch_distance(share.sketch, reference.sketch, reference);
      nearest = nearest < 0 ? distance : std::min(nearest, distance);
    }
    if (members != group.size() || distinct.size() < 2 || nearest <= 0) continue;
    const double left = sketch_distance(sum, reference.sketch, reference);
    if (left > kAddsUp * nearest) continue;
    return Signature{"missing_reduction",
                     "the sum over " + std::string(trace::name_of(axis)) + " (ranks " +
                         list_of(group) + ") is " + short_number(left) +
                         " off the reference, the nearest rank alone " + short_number(nearest)};
  }
  return std::nullopt;
}

}  // namespace nanhunt::compare
