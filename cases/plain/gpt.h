// SPDX-License-Identifier: Apache-2.0
// The plain GPT: pre-norm transformer blocks between an embedding and an output layer that share
// one table. Forward and backward are written out; every declared point of docs/cases.md is rounded
// to the training type and recorded.
#pragma once

#include "cases/plain/draws.h"
#include "cases/plain/parameters.h"

namespace nanhunt::plain {

// One forward and backward pass: the loss; gradients are left in the parameters.
double forward_and_backward(const Options& options, Parameters& parameters, Batch& batch,
                            hooks::RankTaps& taps);

}  // namespace nanhunt::plain
