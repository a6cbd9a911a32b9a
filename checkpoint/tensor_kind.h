// SPDX-License-Identifier: Apache-2.0
// What a tensor is, by its name in PyTorch, Hugging Face, PEFT and Megatron checkpoints, its type
// and its shape. Rules that rest on "this cannot be so by design" ask here; what no pattern knows
// is kOther, of which nothing but finiteness is said.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/safetensors.h"

namespace nanhunt::checkpoint {

enum class TensorKind {
  kWeight,        // floating, at least two dimensions above 1: drawn at random once, then trained
  kZeroInit,      // a weight that training starts at zero by design: LoRA B, zero convolutions
  kNorm,          // scale of a norm: starts constant
  kBias,          // starts at zero
  kBuffer,        // masks, quantisation scales, rotary tables, running statistics
  kFirstMoment,   // exp_avg, momentum_buffer
  kSecondMoment,  // exp_avg_sq, max_exp_avg_sq
  kStep,          // an optimizer's step counter
  kOther,         // vectors, scalars, integers
};

TensorKind kind_of(const TensorEntry& tensor);
bool is_parameter(TensorKind kind);  // weight, zero-init, norm, bias

// Embedding tables and output heads, which many models tie.
bool is_embedding_or_head(const std::string& name);

std::vector<std::string> components_of(const std::string& name);  // split at dots

}  // namespace nanhunt::checkpoint
