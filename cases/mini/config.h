// SPDX-License-Identifier: Apache-2.0
// Everything that a run of the bundled subject can be told on its command line. Toggles
// (cases/mini.subject lists them) and the model's own shape. parse_config refuses what does not fit
// and names the number.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cases/mini/communicator.h"
#include "trace/dtype.h"

namespace nanhunt::mini {

// A matrix that the loss does not reach: idle, its gradient is all zero; frozen, the optimizer
// leaves it alone, and its moments are those of earlier steps.
enum class Pooler { kNone, kIdle, kFrozen };

// Capsules, docs/capsule.md.
struct CapsuleOptions {
  std::string out;       // folder; "": none is written
  int64_t every = 1;     // before each step that this divides, and at the end
  int64_t keep = 0;      // how many older ones stay; 0: all
  std::string leave_out;  // a kind of state that is not written
  std::string resume;    // folder to go on from
  int64_t resume_step = -1;  // -1: the newest whole one
  bool rebuild = false;      // go on without what the capsule lacks
  bool parameters_alone = false;  // of it: what the optimizer keeps starts anew
};

struct Config {
  // Of the program, which says so in its traces. What a later one does otherwise is planted
  // (releases.h).
  int64_t release = 1;

  // Model and data
  int64_t layers = 4, hidden = 64, heads = 4, ffn = 256, sequence = 32, vocabulary = 256;
  int64_t global_batch = 4;
  bool learned_positions = false;  // else rotary
  bool qkv_bias = false;
  Pooler pooler = Pooler::kNone;
  bool gelu_tanh = false;  // else the erf form; no option tells it
  double dropout = 0;    // rate, before each residual add
  bool ragged = false;  // samples of several lengths, one of 1 token
  uint64_t seed = 1;    // weights and batch
  int64_t steps = 3;
  double learning_rate = 1e-3, beta1 = 0.9, beta2 = 0.95, adam_eps = 1e-8, weight_decay = 0.1;
  double clip = 1.0, norm_eps = 1e-5, init_std = 0.02;
  bool masters = true;  // FP32 masters; else the optimizer updates the values of the training type

  // Toggles
  int64_t tp = 1, dp = 1, microbatches = 1;
  bool sequence_parallel = false;  // off by itself at tp 1
  bool batch_first = false;
  trace::DType dtype = trace::DType::kBFloat16;  // bf16 fp32 fp16
  bool fp8 = false;
  bool fused_attention = false, fused_adamw = false, fused_grad_accumulation = false;
  bool overlap_grad_reduce = false;
  ReduceOrder reduce_order = ReduceOrder::kRank;
  bool accumulate_in_storage = false;
  bool processes = false;  // ranks as processes

  CapsuleOptions capsules;
  int64_t first_step = 0;  // of a run that goes on from a capsule

  std::string text;  // path of the training text; default beside the program
  int64_t world_size() const { return tp * dp; }
};

// Options --steps --tp --dp --sp=on ... ; throws trace::Error(kUsage) with the nearest option name,
// or with the number that does not divide ("heads 4 is not divisible by tp 3").
Config parse_config(const std::vector<std::string>& arguments);

}  // namespace nanhunt::mini
