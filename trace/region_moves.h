// SPDX-License-Identifier: Apache-2.0
// Moving the regions of a placement from the logical tensor of one program into that of another.
#pragma once

#include <cstdint>
#include <vector>

#include "trace/placement.h"
#include "trace/rules_file.h"

namespace nanhunt::trace {

// Each region is cut by each move's `from` box; what lies inside goes to its place in the target of
// logical shape `to_shape` (empty: unchanged). Local cells that no move covers count as padding,
// that is, they are not compared. Moves that do not fit the placement's dimensions: Error(kUsage).
Placement move_regions(const Placement& placement, const std::vector<RegionMove>& moves,
                       const std::vector<int64_t>& to_shape);

}  // namespace nanhunt::trace
