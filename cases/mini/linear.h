// SPDX-License-Identifier: Apache-2.0
// Tensor-parallel linear layers (Megatron-LM core/tensor_parallel/layers.py). Weights are [out,
// in]. Column: out is sharded, the input is copied (or gathered over tokens), the bias is a shard.
// Row: in is sharded, partial products are rounded and reduced (or reduce-scattered over tokens),
// then the replicated bias is added. Under sequence parallelism the gathered input is kept for the
// weight gradient, where Megatron gathers it again: the values are equal.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "cases/mini/parameters.h"

namespace nanhunt::mini {

struct Linear {
  std::string site;
  int64_t layer = -1;               // -1: output layer
  int64_t position = -1;            // within the layer: 0 qkv, 1 proj, 2 fc1, 3 fc2
  int64_t inputs = 0, outputs = 0;  // logical
  Parameter* weight = nullptr;
  Parameter* bias = nullptr;  // may be none
};

// [.., inputs] to [.., outputs / tp].
at::Tensor column_parallel(RankContext& context, const Linear& linear, const at::Tensor& input);
// [.., inputs / tp] to [.., outputs].
at::Tensor row_parallel(RankContext& context, const Linear& linear, const at::Tensor& input);
// The tied output layer: [token, sample, hidden] to logits, which are [sample, token, vocabulary /
// tp] with layout.batch_first.
at::Tensor output_layer(RankContext& context, const Linear& linear, const at::Tensor& input);

}  // namespace nanhunt::mini
