// SPDX-License-Identifier: Apache-2.0
// AdamW (Loshchilov and Hutter 2019) on FP32 masters, twice: written out, and ATen's fused kernel.
//   m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2
//   theta = theta (1 - lr wd) - lr / (1 - b1^t) * m / (sqrt(v / (1 - b2^t)) + eps)
#pragma once

#include "cases/mini/finalize_gradients.h"

namespace nanhunt::mini {

void adamw_plain(const Config& config, const OptimizerGradients& gradients, int64_t count);
void adamw_fused(const Config& config, const OptimizerGradients& gradients, int64_t count);

double weight_decay_of(const Config& config, const Parameter& parameter);

// Step number `count` (from 1): moments, masters, then values = masters rounded to the training
// type; records all of them.
void update_parameters(RankContext& context, const OptimizerGradients& gradients, int64_t count);

}  // namespace nanhunt::mini
