// SPDX-License-Identifier: Apache-2.0
// Causal multi-head self-attention and its derivative, in FP64 from the rounded QKV on. Channels of
// qkv are grouped by head: query, key, value of head 0, then of head 1, ...
//   p = softmax(q k^T / sqrt(size)) over the keys at or before the query and below the sample's
//   length
#pragma once

#include "cases/plain/tensor.h"

namespace nanhunt::plain {

struct AttentionShape {
  int64_t heads = 1;
  bool rotary = true;            // rotates queries and keys by their position (halves, base 10000)
  std::vector<int64_t> lengths;  // of each sample
};

// qkv: [sample, token, 3 hidden]; result: [sample, token, hidden].
Tensor attention(const Tensor& qkv, const AttentionShape& shape);
// The gradient of qkv, from that of the result.
Tensor attention_gradient(const Tensor& gradient, const Tensor& qkv, const AttentionShape& shape);

}  // namespace nanhunt::plain
