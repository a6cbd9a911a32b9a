// SPDX-License-Identifier: Apache-2.0
// Values as a record stores them: rounded to its type, and packed. For faults that are planted in
// copies of traces.
#pragma once

#include <cstddef>
#include <vector>

#include "trace/dtype.h"

namespace nanhunt::bench {

using Values = std::vector<double>;

// Bits of the significand, the leading one included: 53, 24, 11, 8.
int significand(trace::DType dtype);
// To `bits` of significand, ties to even, and towards zero; subnormals are left alone.
double rounded(double value, int bits);
double truncated(double value, int bits);
// FP64, FP32, BF16 or FP16; what the type does not hold is rounded (FP16) or cut off (BF16).
std::vector<std::byte> packed(const Values& values, trace::DType dtype);

}  // namespace nanhunt::bench
