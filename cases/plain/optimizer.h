// SPDX-License-Identifier: Apache-2.0
// Global-norm clipping and AdamW (Loshchilov and Hutter 2019) on FP32 masters, computed in FP64 and
// rounded once per stored number.
//   factor = min(1, clip / (norm + 1e-6))
//   m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2
//   theta = theta (1 - lr wd) - lr m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + eps)
// Weight decay applies to matrices only. Parameters are handled in reverse order of the model.
#pragma once

#include "cases/plain/parameters.h"

namespace nanhunt::plain {

// Consumes the gradients: updates masters and values, sets the gradients to 0. `count` from 1.
// Returns the global norm before clipping.
double optimizer_step(const Options& options, Parameters& parameters, int64_t count,
                      hooks::RankTaps& taps);

}  // namespace nanhunt::plain
