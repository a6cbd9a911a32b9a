// SPDX-License-Identifier: Apache-2.0
// Level state: whether two capsules, of whatever layouts, hold the same logical state, and what
// kind of difference it is where they do not.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "capsule/capsule.h"

namespace nanhunt::repro {

struct StateDifference {
  std::string tensor;  // "decoder.final_layernorm.weight exp_avg"
  capsule::Kind kind = capsule::Kind::kParameters;
  // "is all zero in B", "holds in B what decoder.layers.1... has in A", "is shifted by 1 element on
  // rank 2 of B", "differs in 12 of 96 elements, ...", "is in A only: ..."
  std::string what;
};

struct StateComparison {
  int64_t tensors = 0;                       // of both together
  int64_t equal = 0;                         // in all their values: -0 equals 0, NaN equals NaN
  std::vector<StateDifference> differences;  // by name
  // Among the equal ones, what the ranks of both sides say differently, each side's the same way.
  std::vector<std::string> broken_alike;
  std::vector<std::string> not_compared;  // bound to layouts that differ
};

// All values are read, one record at a time, and held against their digests. Throws
// Error(kUnreadable) when one of the capsules is not whole or a value is not what was written;
// copies that differ within one are a difference.
StateComparison compare_state(const capsule::Capsule& a, const capsule::Capsule& b);

// Differences after some steps in tensors that were equal before them: what was another before says
// nothing about the steps.
std::vector<StateDifference> differences_made(const StateComparison& before,
                                              const StateComparison& after);

}  // namespace nanhunt::repro
