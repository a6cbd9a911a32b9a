// SPDX-License-Identifier: Apache-2.0
// Values of a capsule against what their writer said of them: raw digest, digest of each region,
// counts, smallest and largest value. A byte that changed since, in values or in what is said of
// them, shows; sums and sketches are not held against anything (their last bits are those of the
// machine that added them up).
#pragma once

#include <cstddef>
#include <vector>

#include "capsule/capsule.h"

namespace nanhunt::capsule {

// All values of one record, packed in local order. Throws Error(kUnreadable) naming folder, tensor,
// rank, step and file: they are not what was written, or cannot be read.
std::vector<std::byte> read_piece(const Capsule& capsule, const trace::Record& record);

// Reads every value of the capsule, one record at a time. A fault for each record that is not what
// was written; empty: all are.
std::vector<Fault> damaged_values(const Capsule& capsule);

// Throws Error(kUnreadable) with the first of them and their number.
void require_undamaged(const Capsule& capsule);

}  // namespace nanhunt::capsule
