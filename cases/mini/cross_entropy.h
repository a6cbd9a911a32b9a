// SPDX-License-Identifier: Apache-2.0
// Vocabulary-parallel cross-entropy in FP32 (Megatron-LM core/tensor_parallel/cross_entropy.py):
// three reductions over tp. With m the largest logit of a token and z = logit - m:
//   loss = log(sum exp(z)) - z[label];  gradient = softmax - onehot, local.
#pragma once

#include <ATen/core/Tensor.h>

#include "cases/mini/rank_context.h"

namespace nanhunt::mini {

// logits: [token, sample, vocabulary / tp], or [sample, token, ..] with layout.batch_first; labels
// (int64) in the same order. Result: the loss of each token, before the mask.
at::Tensor cross_entropy(RankContext& context, const at::Tensor& logits, const at::Tensor& labels);

}  // namespace nanhunt::mini
