// SPDX-License-Identifier: Apache-2.0
// What the plain GPT can be told; names and defaults as docs/cases.md gives them for the bundled
// subjects.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/dtype.h"

namespace nanhunt::plain {

struct Options {
  int64_t layers = 4, hidden = 64, heads = 4, ffn = 256, sequence = 32, vocabulary = 256;
  int64_t global_batch = 4;
  bool learned_positions = false;  // else rotary
  bool qkv_bias = false;
  bool ragged = false;
  trace::DType dtype = trace::DType::kBFloat16;  // bf16, fp32 or fp16
  uint64_t seed = 1;
  int64_t steps = 3;
  std::string text;
  double learning_rate = 1e-3, weight_decay = 0.1, clip = 1.0;
  double beta1 = 0.9, beta2 = 0.95, adam_eps = 1e-8, norm_eps = 1e-5, init_std = 0.02;
};

// Throws trace::Error(kUsage).
Options parse_options(const std::vector<std::string>& arguments);

}  // namespace nanhunt::plain
