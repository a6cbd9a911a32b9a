// SPDX-License-Identifier: Apache-2.0
// A capsule as the rules of checkpoints see it: one file of logical tensors, whatever the layout
// that wrote it. Facts are those that were taken when it was written; values are read, and checked
// against their digests, where a finding needs them.
//
//   decoder.layers.0.weight             a parameter or a buffer
//   decoder.layers.0.weight.exp_avg     its moment, its master, its step counter
//
// What is bound to a layout, and what of a capsule that is not whole there is, come as each rank's
// own pieces: of those nothing but finiteness is judged.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "capsule/capsule.h"
#include "checkpoint/finding.h"
#include "checkpoint/layout.h"

namespace nanhunt::checkpoint {

// Adds one unit. `name`: of the file in findings. `original`: the path that tells whether files are
// by rank: those whose paths differ in numbers alone are held against each other.
void add_capsule(std::shared_ptr<const capsule::Capsule> capsule, const std::string& name,
                 const std::string& original, Checkpoint* checkpoint);

// Copies by rank of one region that differ, as the capsule itself tells: replica_mismatch, proven.
std::vector<Finding> replica_mismatches(const capsule::Capsule& capsule, const std::string& name);

}  // namespace nanhunt::checkpoint
