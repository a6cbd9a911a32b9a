// SPDX-License-Identifier: Apache-2.0
// Which ranks' own parts of a deviating logical tensor deviate. With values on both sides each
// record's cells are held against the same cells of the reference. With sketches alone a copy can
// be told from its replicas (it takes their place in the sum), a shard cannot: its holders share
// the logical's fate.
#pragma once

#include <vector>

#include "compare/deviations.h"

namespace nanhunt::compare {

// Sets the standing of every record of the pair's logical tensor in candidate.judged.
void judge_parts(SideStep& candidate, const SideStep& reference, const Judge& judge,
                 const Comparison& pair);

// The reference's own answer to copies that differ: those out, when at least one is within and none
// is in doubt; empty when it cannot tell.
std::vector<int> copies_out(const SideStep& candidate, const std::vector<int>& copies);

}  // namespace nanhunt::compare
