// SPDX-License-Identifier: Apache-2.0
// Batches out of the training text, as docs/cases.md defines them ("Weights and batches"). A batch
// depends on text, seed, step and shape alone, never on the layout; ranks slice it by sample and
// token.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cases/mini/config.h"

namespace nanhunt::mini {

// One step's global batch. Matrices are sample major: [samples][sequence].
struct Batch {
  int64_t samples = 0, sequence = 0;
  std::vector<int64_t> tokens;      // byte values; 0 beyond a sample's length
  std::vector<int64_t> labels;      // the byte that follows; 0 beyond a sample's length
  std::vector<float> loss_mask;     // 1 below a sample's length, else 0
  std::vector<int64_t> sample_ids;  // step * samples + index
  std::vector<int64_t> lengths;     // tokens of each sample that count, 1..sequence
  int64_t valid_tokens = 0;         // sum of the lengths
};

// The whole file as bytes. Throws trace::Error(kUsage) naming the file when it cannot be read.
std::string load_text(const std::string& path);

// Throws trace::Error(kUsage) when the text is too short for one sample.
Batch draw_batch(const std::string& text, const Config& config, int64_t step);

}  // namespace nanhunt::mini
