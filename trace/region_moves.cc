// SPDX-License-Identifier: Apache-2.0
#include "trace/region_moves.h"

#include <algorithm>
#include <optional>

#include "trace/error.h"

namespace nanhunt::trace {
namespace {

using Index = std::vector<int64_t>;

struct Box {
  Index start;
  Index extent;
};

std::optional<Box> intersect(const Index& start, const Index& extent, const RegionMove& move) {
  Box box;
  for (size_t d = 0; d < start.size(); ++d) {
    const int64_t low = std::max(start[d], move.from[d]);
    const int64_t high = std::min(start[d] + extent[d], move.from[d] + move.extent[d]);
    if (low >= high) return std::nullopt;
    box.start.push_back(low);
    box.extent.push_back(high - low);
  }
  return box;
}

Region moved_region(const Placement& placement, const Region& region, const RegionMove& move,
                    const Box& box) {
  Region moved;
  moved.extent = box.extent;
  for (size_t d = 0; d < box.start.size(); ++d) {
    moved.logical_start.push_back(move.to[d] + box.start[d] - move.from[d]);
  }
  for (size_t local = 0; local < region.local_start.size(); ++local) {
    const auto d = static_cast<size_t>(placement.to_logical[local]);
    moved.local_start.push_back(region.local_start[local] + box.start[d] - region.logical_start[d]);
  }
  return moved;
}

// Row-major position of an index, and back.
int64_t flatten(const Index& index, const Index& shape) {
  int64_t position = 0;
  for (size_t d = 0; d < shape.size(); ++d) position = position * shape[d] + index[d];
  return position;
}

Index unflatten(int64_t position, const Index& shape) {
  Index index(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    index[d] = position % shape[d];
    position /= shape[d];
  }
  return index;
}

// Appends a range of flattened tensors, joined to the last one where both sides go on.
void append_flat(std::vector<Region>* regions, int64_t local, int64_t logical, int64_t count) {
  if (!regions->empty()) {
    Region& last = regions->back();
    if (last.local_start[0] + last.extent[0] == local &&
        last.logical_start[0] + last.extent[0] == logical) {
      last.extent[0] += count;
      return;
    }
  }
  regions->push_back({{local}, {logical}, {count}});
}

// A flat range is taken row by row: a row is a run of the last dimension.
void move_flat_region(const Placement& placement, const Region& region,
                      const std::vector<RegionMove>& moves, const Index& to_shape,
                      std::vector<Region>* moved) {
  const Index& shape = placement.logical_shape;
  const int64_t begin = region.logical_start[0];
  const int64_t end = begin + region.extent[0];
  for (int64_t position = begin; position < end;) {
    const Index index = unflatten(position, shape);
    const int64_t run = std::min(shape.back() - index.back(), end - position);
    Index extent(shape.size(), 1);
    extent.back() = run;
    for (const RegionMove& move : moves) {
      const auto box = intersect(index, extent, move);
      if (!box) continue;
      Index target(shape.size());
      for (size_t d = 0; d < shape.size(); ++d) {
        target[d] = move.to[d] + box->start[d] - move.from[d];
      }
      const int64_t skipped = box->start.back() - index.back();
      append_flat(moved, region.local_start[0] + position + skipped - begin,
                  flatten(target, to_shape), box->extent.back());
    }
    position += run;
  }
}

void check_fit(const Placement& placement, const std::vector<RegionMove>& moves,
               const Index& to_shape) {
  const size_t dimensions = placement.logical_shape.size();
  bool fits = dimensions > 0 && to_shape.size() == dimensions;
  for (const RegionMove& move : moves) {
    fits = fits && move.from.size() == dimensions;
    for (size_t d = 0; fits && d < dimensions; ++d) {
      fits = move.from[d] + move.extent[d] <= placement.logical_shape[d] &&
             move.to[d] + move.extent[d] <= to_shape[d];
    }
  }
  if (fits) return;
  std::string shape;
  for (const int64_t size : placement.logical_shape) {
    shape += (shape.empty() ? "" : " x ") + std::to_string(size);
  }
  throw Error(ErrorKind::kUsage, "the moves do not fit a logical tensor of " +
                                     (shape.empty() ? "no dimension" : shape));
}

}  // namespace

Placement move_regions(const Placement& placement, const std::vector<RegionMove>& moves,
                       const Index& to_shape) {
  const Index& target = to_shape.empty() ? placement.logical_shape : to_shape;
  check_fit(placement, moves, target);
  Placement moved = placement;
  moved.logical_shape = target;
  moved.regions.clear();
  for (const Region& region : placement.regions) {
    if (placement.flat) {
      move_flat_region(placement, region, moves, target, &moved.regions);
      continue;
    }
    for (const RegionMove& move : moves) {
      const auto box = intersect(region.logical_start, region.extent, move);
      if (box) moved.regions.push_back(moved_region(placement, region, move, *box));
    }
  }
  return moved;
}

}  // namespace nanhunt::trace
