// SPDX-License-Identifier: Apache-2.0
// Inside of fingerprint.h: how a box of a strided tensor is walked in logical order. Dimensions of
// length 1 are dropped and those that continue each other, in the logical tensor and in memory, are
// joined, so that the innermost loop is as long as it can be.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/fingerprint.h"

namespace nanhunt::trace {

struct WalkDim {
  int64_t extent = 1;
  int64_t logical_stride = 0;  // in elements of the unpadded logical tensor, row-major
  int64_t local_stride = 0;    // in elements of memory
};

struct Walk {
  int64_t logical_origin = 0;
  int64_t local_origin = 0;
  int64_t elements = 0;
  std::vector<WalkDim> dims;  // outer to inner; never empty
};

std::vector<int64_t> row_major_strides(const std::vector<int64_t>& shape);
// The whole tensor in local order.
Walk walk_all(const TensorView& tensor);
// One region. For a flat placement the tensor must be contiguous. The placement must be coherent
// for the tensor's shape (placement_fault).
Walk walk_region(const TensorView& tensor, const Placement& placement, const Region& region);

// Calls visit(local offset, logical index, length, local stride) for each run: elements whose
// logical indices are consecutive, and `local stride` apart in memory. A walk without a dimension
// of logical stride 1 has runs of one element.
template <class Visit>
void for_each_run(const Walk& walk, Visit visit) {
  if (walk.elements == 0) return;
  const WalkDim& last = walk.dims.back();
  const bool has_runs = last.logical_stride == 1;
  const size_t outer = has_runs ? walk.dims.size() - 1 : walk.dims.size();
  const int64_t length = has_runs ? last.extent : 1;
  const int64_t stride = has_runs ? last.local_stride : 1;
  std::vector<int64_t> position(outer, 0);
  int64_t local = walk.local_origin;
  int64_t logical = walk.logical_origin;
  while (true) {
    visit(local, logical, length, stride);
    size_t d = outer;
    while (d > 0) {
      const WalkDim& dim = walk.dims[d - 1];
      local += dim.local_stride;
      logical += dim.logical_stride;
      if (++position[d - 1] < dim.extent) break;
      local -= dim.extent * dim.local_stride;
      logical -= dim.extent * dim.logical_stride;
      position[d - 1] = 0;
      --d;
    }
    if (d == 0) return;
  }
}

}  // namespace nanhunt::trace
