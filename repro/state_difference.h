// SPDX-License-Identifier: Apache-2.0
// How two tensors of state differ, in words.
#pragma once

#include <string>

#include "repro/state.h"

namespace nanhunt::repro {

// Reads both sides' values where the shapes agree.
std::string describe_difference(const StateTensor& a, const StateTensor& b);

}  // namespace nanhunt::repro
