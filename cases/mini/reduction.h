// SPDX-License-Identifier: Apache-2.0
// The arithmetic of a reduction, apart from how the ranks meet. Equal inputs give equal bits on
// every rank: the order is fixed, each addition is one FP32 operation, and a NaN result is the
// quiet NaN 0x7FC00000 whatever payloads came in.
#pragma once

#include <cstddef>
#include <span>

#include "cases/mini/communicator.h"

namespace nanhunt::mini {

// out[i] = members[a][i] op members[b][i] op ..., rounded to options.storage.
// Order: kRank 0, 1, 2, ...; kRing first, first + 1, ... (modulo the members); kTree pairwise
// ((0 1) (2 3)) ..., an odd one out joins a level later. Accumulation: FP32, and with
// accumulate_in_storage rounded to storage after each operation.
// Max and min: NaN if any member is NaN; +0 counts as more than -0.
// `out` may be one of the members.
void reduce(std::span<const float* const> members, size_t first, const ReduceOptions& options,
            std::span<float> out);

}  // namespace nanhunt::mini
