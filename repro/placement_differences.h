// SPDX-License-Identifier: Apache-2.0
// The same parameter held otherwise by two builds: another logical shape or type (the state cannot
// be the same), or another way to keep the same logical tensor: padding cells, a mesh axis that
// shards it on one side and copies it on the other, transposed storage.
#pragma once

#include <string>
#include <vector>

#include "capsule/capsule.h"

namespace nanhunt::repro {

struct PlacementDifference {
  std::string tensors;    // "decoder.layers.0.mlp.linear_fc1.weight master and 3 like it"
  std::string what;       // "is fp32 [256, 64] in A, fp32 [320, 64] in B; ..."
  bool of_state = false;  // shape or type
};

// Of parameters, masters and moments that both have under one name; by name. Reads values where a
// tensor grew along its first dimension.
std::vector<PlacementDifference> compare_placements(const capsule::Capsule& a,
                                                    const capsule::Capsule& b);

}  // namespace nanhunt::repro
