// SPDX-License-Identifier: Apache-2.0
// Whether the regions of several ranks make up a whole logical tensor.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/placement.h"

namespace nanhunt::trace {

// Product of the extents; 1 for a scalar.
int64_t elements_in(const std::vector<int64_t>& extent);

// What keeps the distinct regions from tiling the logical tensor, or "". Beyond 512 regions
// overlaps are told by the sum of the volumes alone.
std::string tiling_fault(const std::vector<const Region*>& regions, int64_t elements);

}  // namespace nanhunt::trace
