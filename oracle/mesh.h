// SPDX-License-Identifier: Apache-2.0
// The mesh of a run as rules need it: where each rank sits, and which ranks share a group.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "trace/placement.h"
#include "trace/run_facts.h"

namespace nanhunt::oracle {

class Mesh {
 public:
  explicit Mesh(const std::vector<trace::RunFacts>& facts);

  // Ranks along an axis; 1 for an axis the run does not have. The microbatch axis counts
  // microbatches.
  int32_t size(trace::MeshAxis axis) const;
  // Coordinate of a rank; -1 when that rank wrote nothing.
  int32_t coordinate(int32_t rank, trace::MeshAxis axis) const;
  // Ranks that differ from `rank` in these axes only, itself included, sorted.
  std::vector<int32_t> group(int32_t rank, const std::vector<trace::MeshAxis>& axes) const;

 private:
  std::map<int32_t, const trace::RunFacts*> by_rank_;
  std::array<int32_t, trace::kMeshAxes> size_{1, 1, 1, 1, 1, 1, 1, 1};
};

// Axes (of ranks, not microbatches) with that kind and more than one rank.
std::vector<trace::MeshAxis> axes_of_kind(const trace::Placement& placement,
                                          trace::PlacementKind kind, const Mesh& mesh);
// "tp dp"
std::string names_of(const std::vector<trace::MeshAxis>& axes);
// "0 1 2 3"
std::string list_of(const std::vector<int32_t>& ranks);

}  // namespace nanhunt::oracle
