// SPDX-License-Identifier: Apache-2.0
#pragma once

// Buffers for tests of collectives, and the naive reduction that they are held against.

#include <cstdint>
#include <functional>
#include <vector>

#include "cases/mini/communicator.h"

namespace nanhunt::mini {

// What `rank` brings: magnitudes over many binades, both signs, and, when `special`, zeros of both
// signs, subnormals, Inf and NaN. Values of `storage`.
std::vector<float> rank_input(int rank, size_t elements, trace::DType storage, bool special);

// Element by element as the contract words it: order, rounding after each operation or at the end.
std::vector<float> naive_reduction(const std::vector<std::vector<float>>& inputs,
                                   const ReduceOptions& options);

// Bits, with every NaN the same.
std::vector<uint32_t> bits_of(const std::vector<float>& values);

// Runs body(world, rank) on one thread per rank; returns each rank's exception text, "" for none.
std::vector<std::string> run_on_threads(World& world, const std::function<void(int rank)>& body);

}  // namespace nanhunt::mini
