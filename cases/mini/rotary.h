// SPDX-License-Identifier: Apache-2.0
// Rotary position embedding (Su et al. 2021), pairs (i, i + k/2) as Megatron's default, base 10000.
// Angles in FP64, sine and cosine rounded once to FP32.
#pragma once

#include <ATen/core/Tensor.h>

namespace nanhunt::mini {

inline constexpr double kRotaryBase = 10000;

// [tokens, samples, heads, head size], first token at position 0.
at::Tensor rotate(const at::Tensor& heads);

}  // namespace nanhunt::mini
