// SPDX-License-Identifier: Apache-2.0
#include "cases/mini/quantise.h"

#include <ATen/TensorOperators.h>

#include <cmath>

#include "cases/mini/collectives.h"
#include "cases/mini/rounding.h"

namespace nanhunt::mini {

at::Tensor Quantised::dequantised(double by) const { return codes / by; }

Quantised quantise(const at::Tensor& values, trace::DType dtype) {
  Quantised result;
  const double absmax = values.abs().max().item<double>();
  // The scale is an FP32 number, as kernels hold it.
  if (absmax > 0 && std::isfinite(absmax)) {
    result.scale = static_cast<float>(trace::max_finite(dtype) / absmax);
  }
  // A subnormal absmax asks for more than FP32 holds.
  if (!std::isfinite(result.scale)) result.scale = 1;
  result.codes = (values * result.scale).contiguous();
  round_to(elements(result.codes), dtype);
  return result;
}

}  // namespace nanhunt::mini
