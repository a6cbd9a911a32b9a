// SPDX-License-Identifier: Apache-2.0
#include <ATen/TensorOperators.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/softmax.h>

#include <limits>

#include "cases/mini/attention.h"

namespace nanhunt::mini {

at::Tensor composed_attention(const AttentionInputs& inputs) {
  const at::Tensor scores = at::matmul(inputs.query, inputs.key.transpose(-2, -1)) * inputs.scale;
  const at::Tensor visible =
      scores.masked_fill(inputs.masked, -std::numeric_limits<float>::infinity());
  return at::matmul(at::softmax(visible, -1), inputs.value);
}

}  // namespace nanhunt::mini
