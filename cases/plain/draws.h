// SPDX-License-Identifier: Apache-2.0
// Weights and batches after the words of docs/cases.md ("Weights and batches").
#pragma once

#include <string>
#include <vector>

#include "cases/plain/options.h"
#include "cases/plain/tensor.h"

namespace nanhunt::plain {

Tensor drawn_weight(const std::string& name, std::vector<int64_t> shape, double deviation,
                    uint64_t seed);

struct Batch {
  std::vector<int64_t> tokens, labels;  // [sample][token]
  std::vector<int64_t> lengths;         // of each sample
  std::vector<float> loss_mask;         // [sample][token]
  int64_t counted = 0;                  // tokens with mask 1
};

Batch drawn_batch(const std::string& text, const Options& options, int64_t step);

}  // namespace nanhunt::plain
