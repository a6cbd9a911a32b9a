// SPDX-License-Identifier: Apache-2.0
// Rounds FP32 arrays in place to the values of a narrower type: how the bundled subject holds BF16,
// FP16 and FP8 tensors. To nearest, ties to even; subnormals of the type are kept, -0 stays -0, NaN
// becomes the quiet NaN 0x7FC00000. Beyond the type's range: BF16 and FP16 round to Inf as IEEE 754
// says (FP16 from 65520 on), E4M3 and E5M2 saturate at 448 and 57344, Inf too, as Transformer
// Engine's casts do.
#pragma once

#include <span>

#include "trace/dtype.h"

namespace nanhunt::mini {

// FP32 leaves all values as they are. Types other than fp32 bf16 fp16 fp8_e4m3 fp8_e5m2 break an
// invariant.
void round_to(std::span<float> values, trace::DType dtype);
float rounded_to(float value, trace::DType dtype);

}  // namespace nanhunt::mini
