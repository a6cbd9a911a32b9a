// SPDX-License-Identifier: Apache-2.0
#include "trace/placement.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "trace/check.h"

namespace nanhunt::trace {
namespace {

constexpr std::array<std::string_view, 8> kKindNames{"replicated", "shard", "partial", "batch",
                                                     "token_map",  "flat",  "tied",    "unknown"};
constexpr std::array<std::string_view, 4> kReduceNames{"sum", "max", "min", "product"};

int64_t product(const std::vector<int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

std::string at_region(size_t index, const std::string& text) {
  return "region " + std::to_string(index) + ": " + text;
}

// The box in local dimensions.
std::vector<int64_t> local_extent(const Placement& placement, const Region& region) {
  if (placement.flat) return region.extent;
  std::vector<int64_t> extent;
  for (int32_t logical : placement.to_logical) extent.push_back(region.extent[logical]);
  return extent;
}

std::string shape_fault(const Placement& placement, size_t local_rank) {
  const size_t logical_rank = placement.logical_shape.size();
  if (!placement.axes.empty() && placement.axes.size() != logical_rank) {
    return std::to_string(placement.axes.size()) + " axis names for " +
           std::to_string(logical_rank) + " logical dimensions";
  }
  for (int64_t length : placement.logical_shape) {
    if (length < 0) return "negative length in the logical shape";
  }
  if (placement.flat) return "";
  if (placement.to_logical.size() != local_rank) {
    return "to_logical has " + std::to_string(placement.to_logical.size()) +
           " entries for a local tensor of " + std::to_string(local_rank) + " dimensions";
  }
  std::vector<bool> used(logical_rank, false);
  for (int32_t logical : placement.to_logical) {
    if (logical < 0 || static_cast<size_t>(logical) >= logical_rank) {
      return "to_logical names dimension " + std::to_string(logical) + " of " +
             std::to_string(logical_rank);
    }
    if (used[logical]) return "to_logical names dimension " + std::to_string(logical) + " twice";
    used[logical] = true;
  }
  return "";
}

std::string box_fault(const std::vector<int64_t>& start, const std::vector<int64_t>& extent,
                      const std::vector<int64_t>& shape, const char* which) {
  for (size_t d = 0; d < shape.size(); ++d) {
    if (start[d] >= 0 && extent[d] >= 0 && start[d] <= shape[d] &&
        extent[d] <= shape[d] - start[d]) {
      continue;
    }
    return std::string("[") + std::to_string(start[d]) + ", +" + std::to_string(extent[d]) +
           ") leaves " + which + " dimension " + std::to_string(d) + " of length " +
           std::to_string(shape[d]);
  }
  return "";
}

std::string region_fault(const Placement& placement, const Region& region,
                         const std::vector<int64_t>& local_shape,
                         const std::vector<int64_t>& logical_shape) {
  if (region.local_start.size() != local_shape.size() ||
      region.logical_start.size() != logical_shape.size() ||
      region.extent.size() != logical_shape.size()) {
    return "lists do not have one entry a dimension";
  }
  std::string fault = box_fault(region.logical_start, region.extent, logical_shape, "logical");
  if (!fault.empty()) return fault;
  if (!placement.flat) {
    std::vector<bool> held(logical_shape.size(), false);
    for (int32_t logical : placement.to_logical) held[logical] = true;
    for (size_t d = 0; d < held.size(); ++d) {
      if (!held[d] && region.extent[d] != 1) {
        return "extent " + std::to_string(region.extent[d]) + " in logical dimension " +
               std::to_string(d) + ", which the local tensor does not have";
      }
    }
  }
  return box_fault(region.local_start, local_extent(placement, region), local_shape, "local");
}

// Sweep along the first dimension: a region can only meet those that start before it ends.
std::string overlap_fault(const Placement& placement) {
  struct Box {
    std::vector<int64_t> start, extent;
    size_t index;
  };
  std::vector<Box> boxes;
  for (size_t i = 0; i < placement.regions.size(); ++i) {
    Box box{placement.regions[i].local_start, local_extent(placement, placement.regions[i]), i};
    if (product(box.extent) != 0) boxes.push_back(std::move(box));
  }
  std::stable_sort(boxes.begin(), boxes.end(),
                   [](const Box& a, const Box& b) { return a.start < b.start; });
  for (size_t i = 0; i < boxes.size(); ++i) {
    for (size_t j = i + 1; j < boxes.size(); ++j) {
      const Box &a = boxes[i], &b = boxes[j];
      if (!a.start.empty() && b.start[0] >= a.start[0] + a.extent[0]) break;
      bool apart = false;
      for (size_t d = 0; d < a.start.size() && !apart; ++d) {
        apart = a.start[d] + a.extent[d] <= b.start[d] || b.start[d] + b.extent[d] <= a.start[d];
      }
      if (!apart) {
        return "regions " + std::to_string(std::min(a.index, b.index)) + " and " +
               std::to_string(std::max(a.index, b.index)) + " overlap in the local tensor";
      }
    }
  }
  return "";
}

}  // namespace

std::string_view name_of(PlacementKind kind) {
  NANHUNT_CHECK(static_cast<size_t>(kind) < kKindNames.size());
  return kKindNames[static_cast<size_t>(kind)];
}

std::string_view name_of(ReduceOp op) {
  NANHUNT_CHECK(static_cast<size_t>(op) < kReduceNames.size());
  return kReduceNames[static_cast<size_t>(op)];
}

Placement whole(std::vector<std::string> axes, std::vector<int64_t> shape) {
  Placement placement;
  placement.axes = std::move(axes);
  placement.to_logical.resize(shape.size());
  std::iota(placement.to_logical.begin(), placement.to_logical.end(), 0);
  const std::vector<int64_t> origin(shape.size(), 0);
  placement.regions.push_back({origin, origin, shape});
  placement.logical_shape = std::move(shape);
  return placement;
}

AxisPlacement on_axis(const Placement& placement, MeshAxis axis) {
  for (const AxisPlacement& entry : placement.mesh) {
    if (entry.axis == axis) return entry;
  }
  AxisPlacement unnamed;
  unnamed.axis = axis;
  unnamed.kind =
      is_unknown(placement) ? PlacementKind::kUnknown : PlacementKind::kReplicated;
  return unnamed;
}

bool is_unknown(const Placement& placement) {
  return placement.regions.empty() ||
         std::any_of(placement.mesh.begin(), placement.mesh.end(), [](const AxisPlacement& entry) {
           return entry.kind == PlacementKind::kUnknown;
         });
}

std::string placement_fault(const Placement& placement, const std::vector<int64_t>& local_shape) {
  std::array<bool, kMeshAxes> named{};
  for (const AxisPlacement& entry : placement.mesh) {
    bool& seen = named[static_cast<size_t>(entry.axis)];
    if (seen) return "mesh axis " + std::string(name_of(entry.axis)) + " is named twice";
    seen = true;
    if (!(entry.divisor > 0)) {
      return "divisor must be positive";
    }
  }
  if (placement.regions.empty()) return "";
  std::string fault = shape_fault(placement, local_shape.size());
  if (!fault.empty()) return fault;
  const std::vector<int64_t> local =
      placement.flat ? std::vector<int64_t>{product(local_shape)} : local_shape;
  const std::vector<int64_t> logical = placement.flat
                                           ? std::vector<int64_t>{product(placement.logical_shape)}
                                           : placement.logical_shape;
  for (size_t i = 0; i < placement.regions.size(); ++i) {
    fault = region_fault(placement, placement.regions[i], local, logical);
    if (!fault.empty()) return at_region(i, fault);
  }
  return overlap_fault(placement);
}

}  // namespace nanhunt::trace
