// SPDX-License-Identifier: Apache-2.0
#include "trace/tiling.h"

#include <functional>
#include <numeric>

namespace nanhunt::trace {
namespace {

bool boxes_overlap(const Region& a, const Region& b) {
  for (size_t d = 0; d < a.extent.size(); ++d) {
    if (a.logical_start[d] + a.extent[d] <= b.logical_start[d] ||
        b.logical_start[d] + b.extent[d] <= a.logical_start[d]) {
      return false;
    }
  }
  return true;
}

}  // namespace

int64_t elements_in(const std::vector<int64_t>& extent) {
  return std::accumulate(extent.begin(), extent.end(), int64_t{1}, std::multiplies<>());
}

std::string tiling_fault(const std::vector<const Region*>& regions, int64_t elements) {
  int64_t covered = 0;
  for (const auto* region : regions) covered += elements_in(region->extent);
  if (regions.size() <= 512) {
    for (size_t i = 0; i < regions.size(); ++i) {
      for (size_t j = i + 1; j < regions.size(); ++j) {
        if (boxes_overlap(*regions[i], *regions[j])) return "regions overlap";
      }
    }
  }
  if (covered < elements) {
    return std::to_string(elements - covered) + " of " + std::to_string(elements) +
           " elements are in no region";
  }
  return covered > elements ? "regions overlap" : "";
}

}  // namespace nanhunt::trace
