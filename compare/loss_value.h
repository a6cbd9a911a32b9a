// SPDX-License-Identifier: Apache-2.0
// The value of a loss that one step recorded.
#pragma once

#include <optional>

#include "oracle/logical.h"

namespace nanhunt::compare {

// FP64, of a logical tensor of one element: whole, or the sum over ranks and microbatches by its
// divisor. NaN and Inf as they are. nullopt where it is not complete or has more elements.
std::optional<double> loss_value(const oracle::Logical& logical);

}  // namespace nanhunt::compare
