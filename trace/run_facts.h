// SPDX-License-Identifier: Apache-2.0
// What each file of a trace says about the run and the rank: identity, mesh, and free facts.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "trace/vocabulary.h"

namespace nanhunt::trace {

struct RunFacts {
  int32_t rank = 0;
  int32_t world_size = 1;
  std::array<int32_t, kMeshAxes> mesh_size{1, 1, 1, 1, 1, 1, 1, 1};  // by MeshAxis
  std::array<int32_t, kMeshAxes> mesh_coordinate{};                  // of this rank
  std::string host;
  std::string device;
  // Versions, flags, environment, paths taken: "torch.version", "threads", "isa",
  // "env.OMP_NUM_THREADS".
  std::map<std::string, std::string> facts;
};

}  // namespace nanhunt::trace
