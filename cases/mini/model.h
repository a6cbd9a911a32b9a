// SPDX-License-Identifier: Apache-2.0
// The GPT: embedding, pre-norm blocks, final norm, output layer tied to the word embedding.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "cases/mini/attention.h"
#include "cases/mini/embedding.h"
#include "cases/mini/norm.h"
#include "cases/mini/text.h"

namespace nanhunt::mini {

struct Block {
  int64_t layer = 0;
  Norm input_norm, pre_mlp_norm;
  Attention attention;
  Linear fc1, fc2;
};

struct Model {
  Parameters parameters;
  Embedding embedding;
  std::vector<Block> blocks;
  Norm final_norm;
  Linear output;
};

Model build_model(RankContext& context);

// One microbatch of this rank, on its device types.
struct LocalBatch {
  at::Tensor tokens, labels;  // int64 [samples, tokens]
  at::Tensor loss_mask;       // [samples, tokens]
  at::Tensor masked;          // attention_mask
  int64_t denominator = 1;    // tokens that count in the whole step
};

// Slices the step's batch for the context's microbatch and records it.
LocalBatch local_batch(RankContext& context, const Batch& batch);

// This microbatch's and rank's share of the step's loss: a scalar with its graph.
at::Tensor forward_loss(RankContext& context, const Model& model, const LocalBatch& batch);

}  // namespace nanhunt::mini
