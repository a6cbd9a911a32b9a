// SPDX-License-Identifier: Apache-2.0
// How a local tensor relates to the logical one, the tensor as TP1 would hold it. A placement is
// what the program *means* at that point, never what the run did: a missing reduction shows as
// replicated copies that differ. `unknown` is legal; nothing is guessed as replicated.
//
// Two parts. Per mesh axis a kind (are the ranks along this axis copies, pieces, partial sums,
// ...). And the regions: boxes of the local tensor with their place in the logical one; they cover
// shards of several pieces, interleaved QKV, zigzag context parallelism, flat optimizer shards,
// batch positions. Local cells that no region covers are padding. Values are immutable once shared
// with a recorder.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/vocabulary.h"

namespace nanhunt::trace {

// Numbers are written to trace files: never renumber, only append.
enum class PlacementKind : uint8_t {
  kReplicated = 0,  // equal copies
  kShard = 1,       // disjoint pieces, told by the regions
  kPartial = 2,     // logical value = op over the ranks, divided by `divisor`
  kBatch = 3,       // different samples, told by the regions on the sample axis; / `divisor`
  kTokenMap = 4,    // routed rows, told by one region a row
  kFlat = 5,        // range of a flat buffer; regions index the flattened logical tensor
  kTied = 6,        // further copy of one parameter
  kUnknown = 7,
};

enum class ReduceOp : uint8_t { kSum = 0, kMax = 1, kMin = 2, kProduct = 3 };

struct AxisPlacement {
  MeshAxis axis = MeshAxis::kTp;
  PlacementKind kind = PlacementKind::kUnknown;
  ReduceOp op = ReduceOp::kSum;  // partial only
  // Partial and batch. A batch has one where each rank's values are that many times the logical
  // ones: gradients of a loss that is a mean over the rank's own samples, or that was scaled.
  double divisor = 1.0;

  bool operator==(const AxisPlacement&) const = default;
};

// A box. `extent` is in logical dimensions; local dimension d has extent[to_logical[d]].
// In a flat placement all three have one entry, in elements of the flattened tensors.
struct Region {
  std::vector<int64_t> local_start;    // local dimensions
  std::vector<int64_t> logical_start;  // logical dimensions
  std::vector<int64_t> extent;         // logical dimensions

  bool operator==(const Region&) const = default;
};

struct Placement {
  std::vector<std::string> axes;  // names of the logical dimensions: "sample", "token", "channel"
  std::vector<int64_t> logical_shape;  // unpadded
  std::vector<int32_t> to_logical;     // local dimension -> logical dimension
  bool flat = false;                   // regions index flattened tensors
  std::vector<AxisPlacement> mesh;     // axes of size 1 may be left out
  std::vector<Region> regions;         // in local order; empty only for unknown placements

  bool operator==(const Placement&) const = default;
};

std::string_view name_of(PlacementKind kind);
std::string_view name_of(ReduceOp op);

// The whole tensor on one rank, local order = logical order, one region.
Placement whole(std::vector<std::string> axes, std::vector<int64_t> shape);
// Kind on that mesh axis; replicated where the placement does not name the axis and is not unknown.
AxisPlacement on_axis(const Placement& placement, MeshAxis axis);
bool is_unknown(const Placement& placement);
// "" when the placement is coherent for a local tensor of this shape, else what is wrong with it:
// ranks of the lists, regions outside the local or logical shape, overlapping local regions.
std::string placement_fault(const Placement& placement, const std::vector<int64_t>& local_shape);

}  // namespace nanhunt::trace
