// SPDX-License-Identifier: Apache-2.0
// Level state: whether two states, of whatever layouts and files, are the same logical state, and
// what kind of difference it is where they are not.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "capsule/capsule.h"
#include "repro/state.h"

namespace nanhunt::repro {

struct StateDifference {
  std::string tensor;  // "decoder.final_layernorm.weight exp_avg"
  capsule::Kind kind = capsule::Kind::kParameters;
  // "is all zero in B", "holds in B what decoder.layers.1... has in A", "is shifted by 1 element on
  // rank 2 of B", "differs in 12 of 96 elements, ...", "is in A only: ..."
  std::string what;
};

// A kind of state that only a capsule keeps, or that one of the sides does not have at all.
struct NotCompared {
  capsule::Kind kind = capsule::Kind::kMoments;
  bool in_a = false, in_b = false;  // has something of it
};

struct StateComparison {
  int64_t tensors = 0;                       // of both together
  int64_t equal = 0;                         // in all their values: -0 equals 0, NaN equals NaN
  std::vector<StateDifference> differences;  // by name
  // Among the equal ones, what the ranks of both sides say differently, each side's the same way.
  std::vector<std::string> broken_alike;
  std::vector<std::string> not_compared;     // with the reason: bound to layouts that differ
  // With a foreign side only: which kinds were compared at all, and which were not.
  std::vector<capsule::Kind> compared;
  std::vector<NotCompared> absent;
};

// Values are read for tensors that differ, one at a time. Copies that differ within one side are a
// difference. Throws Error(kUnreadable) where the two have no
// tensor in common: nothing would be compared.
StateComparison compare_state(const State& a, const State& b);
// The same of two capsules. Errors as of state_of.
StateComparison compare_state(const capsule::Capsule& a, const capsule::Capsule& b);

// Differences after some steps in tensors that were equal before them: what was another before says
// nothing about the steps.
std::vector<StateDifference> differences_made(const StateComparison& before,
                                              const StateComparison& after);

}  // namespace nanhunt::repro
