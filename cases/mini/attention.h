// SPDX-License-Identifier: Apache-2.0
// Causal self-attention over a rank's heads. Two implementations of the same core, one composed of
// matrix products and a softmax, one fused (ATen's scaled dot-product attention).
#pragma once

#include <ATen/core/Tensor.h>

#include "cases/mini/linear.h"

namespace nanhunt::mini {

// What a core works on: [samples, heads, tokens, head size] each; FP32 inside, not rounded.
struct AttentionInputs {
  at::Tensor query, key, value;
  at::Tensor masked;  // bool [samples, 1, tokens, tokens]: true where a query may not see a key
  double scale = 1;
};

// Scores of masked keys are -Inf. A query that may see nothing gives NaN.
at::Tensor composed_attention(const AttentionInputs& inputs);
// A query that may see nothing gives 0.
at::Tensor fused_attention(const AttentionInputs& inputs);

struct Attention {
  int64_t layer = 0;
  Linear qkv, proj;
};

// The mask of a microbatch: causal, and no keys beyond a sample's length. [samples, tokens, tokens]
at::Tensor attention_mask(const std::vector<int64_t>& lengths, int64_t sequence);

// [tokens, samples, hidden] to the same; `masked` as attention_mask gives it.
at::Tensor self_attention(RankContext& context, const Attention& attention, const at::Tensor& input,
                          const at::Tensor& masked);

}  // namespace nanhunt::mini
