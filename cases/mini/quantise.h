// SPDX-License-Identifier: Apache-2.0
// Emulated FP8 with current scaling: one scale for a local tensor, out of its own absmax.
//   scale = max_finite / absmax (1 where absmax is 0 or not finite);  code = round(x * scale),
//   saturating
#pragma once

#include <ATen/core/Tensor.h>

#include "trace/dtype.h"

namespace nanhunt::mini {

struct Quantised {
  at::Tensor codes;  // values of the FP8 type, in FP32 storage
  double scale = 1;

  // What a GEMM with a dequantise scale of 1 / `by` sees.
  at::Tensor dequantised(double by) const;
};

Quantised quantise(const at::Tensor& values, trace::DType dtype);

}  // namespace nanhunt::mini
