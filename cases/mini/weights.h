// SPDX-License-Identifier: Apache-2.0
// The counter-based generator behind weights and batches, as docs/cases.md defines it ("Weights and
// batches"). Integer arithmetic and one product, so equal bits on every machine; a draw depends on
// name, seed and index alone, so every layout slices the same logical tensor.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace nanhunt::mini {

// Key of one stream of draws.
uint64_t stream_key(const std::string& name, uint64_t seed);

// Draw `index` of a stream: 64 uniform bits.
uint64_t draw_bits(uint64_t key, uint64_t index);

// The logical tensor `name`, row major: near-normal, mean 0, deviation `std`, at most 6 of them
// from 0.
std::vector<float> draw_weight(const std::string& name, int64_t numel, double std, uint64_t seed);

}  // namespace nanhunt::mini
