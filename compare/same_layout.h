// SPDX-License-Identifier: Apache-2.0
// Run against run in the same layout: records of one rank, place and microbatch are held against
// each other by raw digest; placements are not needed. Without an envelope each bit difference is a
// finding (rule same_bits), and the first in causal order that got equal inputs is the origin. With
// one, a bit difference inside it is told as an event, and what is out of it is a finding
// (reference_envelope).
#pragma once

#include <map>
#include <string>

#include "compare/deviations.h"

namespace nanhunt::compare {

struct SameLayout {
  int64_t compared = 0;
  int64_t differing = 0;
  std::map<std::string, int64_t> only_candidate, only_reference;  // by kind of place
  std::string first_difference;  // description of the first in causal order; "" when none
};

// Sets candidate.judged and adds the findings. Throws Error(kUsage) when the layouts differ.
SameLayout compare_records(SideStep& candidate, const SideStep& reference, const Judge& judge);

}  // namespace nanhunt::compare
