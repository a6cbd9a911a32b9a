// SPDX-License-Identifier: Apache-2.0
// When what went into a deviating tensor lies between the two bounds, the origin is one of several.
// The one with the largest fresh error, sqrt(e_out^2 - sum of e_in^2) over its judged inputs,
// leads.
#pragma once

#include <string>
#include <vector>

#include "compare/origin_walk.h"

namespace nanhunt::compare {

struct Interval {
  std::vector<int> lead;                // records of the leading logical tensor
  std::vector<std::string> candidates;  // every member, in happens-before order
};

// `records`: the finding's own; the undecided ones are reached from them.
Interval interval_of(const SideStep& side, OriginWalk& walk, const std::vector<int>& records,
                     const std::string& rule);

}  // namespace nanhunt::compare
