// SPDX-License-Identifier: Apache-2.0
#include "trace/region_runs.h"

#include <algorithm>
#include <vector>

namespace nanhunt::trace {
namespace {

// One local dimension of the region: how many, and how far apart they are on both sides.
struct Dimension {
  int64_t extent = 1, local_stride = 1, logical_stride = 1;
  int64_t reach = 0;  // logical distance between first and last element of the dimensions inside
};

struct Box {
  int64_t local = 0, logical = 0;  // of its first element
  std::vector<Dimension> dimensions;
};

std::vector<int64_t> strides_of(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

Box box_of(const Placement& placement, const std::vector<int64_t>& local_shape,
           const Region& region) {
  Box box;
  if (region.extent.empty()) {
    box.dimensions.emplace_back();
    return box;
  }
  if (placement.flat) {
    box.local = region.local_start[0];
    box.logical = region.logical_start[0];
    box.dimensions.push_back({.extent = region.extent[0]});
    return box;
  }
  const auto local = strides_of(local_shape), logical = strides_of(placement.logical_shape);
  for (size_t d = 0; d < local.size(); ++d) {
    const auto l = static_cast<size_t>(placement.to_logical[d]);
    box.local += region.local_start[d] * local[d];
    box.logical += region.logical_start[l] * logical[l];
    box.dimensions.push_back({region.extent[l], local[d], logical[l]});
  }
  return box;
}

// Neighbouring dimensions that are contiguous on both sides become one, so that whole tensors and
// whole rows are single runs.
void join_dimensions(std::vector<Dimension>& dimensions) {
  for (size_t d = dimensions.size(); d-- > 1;) {
    Dimension &outer = dimensions[d - 1], &inner = dimensions[d];
    const bool joined = outer.local_stride == inner.extent * inner.local_stride &&
                        outer.logical_stride == inner.extent * inner.logical_stride;
    if (!joined) continue;
    inner.extent *= outer.extent;
    dimensions.erase(dimensions.begin() + static_cast<std::ptrdiff_t>(d) - 1);
  }
  int64_t reach = 0;
  for (size_t d = dimensions.size(); d-- > 0;) {
    dimensions[d].reach = reach;
    reach += (dimensions[d].extent - 1) * dimensions[d].logical_stride;
  }
}

class Walk {
 public:
  Walk(const std::vector<Dimension>& dimensions, int64_t begin, int64_t end,
       const std::function<void(const Run&)>& visit)
      : dimensions_(dimensions), begin_(begin), end_(end), visit_(visit) {}

  void enter(size_t d, int64_t local, int64_t logical) {
    const Dimension& dimension = dimensions_[d];
    if (logical >= end_) return;
    const int64_t stride = dimension.logical_stride;
    const int64_t missing = begin_ - logical - dimension.reach;
    const int64_t first = missing > 0 ? (missing + stride - 1) / stride : 0;
    const int64_t last = std::min(dimension.extent, (end_ - 1 - logical) / stride + 1);
    if (first >= last) return;
    if (d + 1 == dimensions_.size()) {
      visit_({local + first, logical + first * stride, stride, last - first});
      return;
    }
    for (int64_t i = first; i < last; ++i) {
      enter(d + 1, local + i * dimension.local_stride, logical + i * stride);
    }
  }

 private:
  const std::vector<Dimension>& dimensions_;
  int64_t begin_, end_;
  const std::function<void(const Run&)>& visit_;
};

}  // namespace

void for_each_run(const Placement& placement, const std::vector<int64_t>& local_shape,
                  const Region& region, int64_t begin, int64_t end,
                  const std::function<void(const Run&)>& visit) {
  if (std::ranges::find(region.extent, 0) != region.extent.end()) return;
  Box box = box_of(placement, local_shape, region);
  join_dimensions(box.dimensions);
  Walk(box.dimensions, begin, end, visit).enter(0, box.local, box.logical);
}

}  // namespace nanhunt::trace
