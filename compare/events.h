// SPDX-License-Identifier: Apache-2.0
// Events that look like failures and are none. FP16 overflow under a loss scaler: found_inf is set,
// the step is skipped, parameters stay as they were; non-finite gradients of that step are its
// working.
#pragma once

#include <string>
#include <vector>

#include "compare/side_step.h"

namespace nanhunt::compare {

// Takes the findings that the event explains out of the side, and says so in one line; "" when
// none.
std::string take_out_skipped_step(SideStep& side);

}  // namespace nanhunt::compare
