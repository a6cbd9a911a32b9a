// SPDX-License-Identifier: Apache-2.0
// Before and after a non-finite value: how the size of that tensor grew over the steps before, and
// where what was made of it is finite again (a clamp, a mask, a skipped step).
#pragma once

#include <string>
#include <vector>

#include "compare/side_step.h"

namespace nanhunt::compare {

// "largest finite value 12, 940, 6.1e+04 in steps 5, 6, 7; fp16 ends at 6.55e+04": up to the last
// five captured steps, on that rank, the record's own included. Empty where no earlier step holds
// that tensor.
std::string growth_before(const SideStep& side, int record);

// Places whose tensor is finite though one that it was made of is not, and that one comes, without
// a gap, from `record`: each place once, in program order of the record's step.
std::vector<std::string> vanished_after(const SideStep& side, int record);

}  // namespace nanhunt::compare
