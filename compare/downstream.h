// SPDX-License-Identifier: Apache-2.0
// Origins of one step that lie downstream of another one. What such an origin consumed is within
// rule, or it would be passed on; yet the values come from the other, and an error below the bounds
// may have grown above them again.
#pragma once

#include <vector>

#include "compare/side_step.h"

namespace nanhunt::compare {

// By place, a list of records: the first place in the list whose records the inputs of this one
// come from, over any number of records; -1 for none. The places are in happens-before order, as
// in_causal_order gives them.
std::vector<int> upstream_places(const SideStep& side, const std::vector<std::vector<int>>& places);

}  // namespace nanhunt::compare
