// SPDX-License-Identifier: Apache-2.0
#include "trace/fingerprint_plan.h"

#include "trace/check.h"

namespace nanhunt::trace {
namespace {

// Adds an inner dimension, joined to the one before where both step alike.
void append(Walk& walk, const WalkDim& inner) {
  walk.elements *= inner.extent;
  if (inner.extent == 1) return;
  if (!walk.dims.empty()) {
    WalkDim& outer = walk.dims.back();
    if (outer.logical_stride == inner.extent * inner.logical_stride &&
        outer.local_stride == inner.extent * inner.local_stride) {
      outer = {outer.extent * inner.extent, inner.logical_stride, inner.local_stride};
      return;
    }
  }
  walk.dims.push_back(inner);
}

Walk finish(Walk walk) {
  if (walk.dims.empty()) walk.dims.push_back({1, 1, 1});
  return walk;
}

}  // namespace

std::vector<int64_t> row_major_strides(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t d = shape.size(); d > 1; --d) strides[d - 2] = strides[d - 1] * shape[d - 1];
  return strides;
}

Walk walk_all(const TensorView& tensor) {
  Walk walk;
  walk.elements = 1;
  const std::vector<int64_t> logical = row_major_strides(tensor.shape);
  for (size_t d = 0; d < tensor.shape.size(); ++d) {
    append(walk, {tensor.shape[d], logical[d], tensor.strides[d]});
  }
  return finish(std::move(walk));
}

Walk walk_region(const TensorView& tensor, const Placement& placement, const Region& region) {
  Walk walk;
  walk.elements = 1;
  if (placement.flat) {
    NANHUNT_CHECK(tensor.contiguous());
    walk.local_origin = region.local_start[0];
    walk.logical_origin = region.logical_start[0];
    append(walk, {region.extent[0], 1, 1});
    return finish(std::move(walk));
  }
  const std::vector<int64_t> logical = row_major_strides(placement.logical_shape);
  std::vector<int64_t> local_stride(logical.size(), 0);  // 0 where extent is 1: not held locally
  for (size_t d = 0; d < tensor.shape.size(); ++d) {
    local_stride[placement.to_logical[d]] = tensor.strides[d];
    walk.local_origin += region.local_start[d] * tensor.strides[d];
  }
  for (size_t d = 0; d < logical.size(); ++d) {
    walk.logical_origin += region.logical_start[d] * logical[d];
    append(walk, {region.extent[d], logical[d], local_stride[d]});
  }
  return finish(std::move(walk));
}

}  // namespace nanhunt::trace
