// SPDX-License-Identifier: Apache-2.0
#include <ATen/ops/scaled_dot_product_attention.h>

#include "cases/mini/attention.h"

namespace nanhunt::mini {

at::Tensor fused_attention(const AttentionInputs& inputs) {
  // ATen's boolean mask is true where a query may see a key.
  return at::scaled_dot_product_attention(inputs.query, inputs.key, inputs.value,
                                          inputs.masked.logical_not(), 0.0, false, inputs.scale);
}

}  // namespace nanhunt::mini
