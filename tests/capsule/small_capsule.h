// SPDX-License-Identifier: Apache-2.0
// Capsules made by hand: a matrix [out 8, in 12] of two layers and its moments cut over tensor
// parallelism, a bias that all ranks have, counters, and an RNG stream a rank.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "trace/segment.h"

namespace nanhunt::capsule::test {

inline constexpr int64_t kRows = 8, kColumns = 12;

// How the matrix is cut: over `tp` ranks along dimension 0 or 1, with `dp` copies; or, with dp
// greater than 1 and `flat`, each copy cut further into equal ranges of its flattened piece.
struct Layout {
  int32_t tp = 1, dp = 1;
  int dimension = 0;
  bool flat = false;  // over all ranks, as ranges of the flattened logical tensor

  int32_t world() const { return tp * dp; }
};

trace::RunFacts facts_of(const Layout& layout, int32_t rank);
trace::Placement matrix_placement(const Layout& layout, int32_t rank);
std::vector<int64_t> local_shape(const Layout& layout);
// Element i of the logical tensor of that role, in layer 0; layer 1 has 1000 more.
float element(const std::string& role, int64_t i);
// The rank's piece of it, in local order.
std::vector<float> piece_of(const Layout& layout, int32_t rank, const std::string& role);

// The state of one rank; `edit` changes it before it is written.
trace::Segment rank_state(const Layout& layout, int32_t rank, int64_t step);
using Edit = std::function<void(trace::Segment&)>;
void write_capsule(const std::filesystem::path& folder, const Layout& layout, int64_t step,
                   const Edit& edit = {});

// Index of a record in a segment.
size_t index_of(const trace::Segment& segment, const std::string& site, const std::string& role);
// Makes statistics, digests and regions of record i anew from its values.
void print_again(trace::Segment& segment, size_t i);

}  // namespace nanhunt::capsule::test
