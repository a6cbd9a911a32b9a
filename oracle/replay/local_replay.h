// SPDX-License-Identifier: Apache-2.0
// Rule local_replay: every record of a step that was captured in full with its operands is computed
// again in FP64 from them, on as many threads as there are cores. What is out of rule originated
// there, whatever its operands are; what is within only handed on what it got.
//
// Memory: a slice of one record and of its operands a thread, in FP64, or all of it where its op
// cannot be cut, whatever the size of the trace; all threads together keep below kReplayBytes, and
// a record that needs more by itself is left out.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "oracle/rule.h"

namespace nanhunt::oracle {

// The name in findings.
inline constexpr const char* kLocalReplay = "local_replay";

inline constexpr int64_t kReplayBytes = int64_t{8} << 30;

enum class Replayed : uint8_t {
  kNot,         // no values, no operands, no replay
  kWithin,      // within the deterministic bound, or the statistical one
  kSuspicious,  // out of the statistical bound
  kProven,      // out of the deterministic bound
};

// How large the terms of a record are that was computed again, whatever they left of each other:
// norm of the magnitudes of Recomputed, and its roundings; 0 where there are none. Below 0: not
// computed again, or beyond FP64.
struct TermSize {
  double norm = -1;
  double roundings = 0;
};

struct LocalReplay {
  std::vector<Finding> findings;    // by record, in the order of the step
  std::vector<Replayed> by_record;  // one a record
  std::vector<TermSize> terms;      // one a record; empty without values
  int64_t replayed = 0;
  // Records with values and links that were not computed again, by kind of site, phase and reason.
  std::map<std::string, int64_t> not_replayed;
};

// Nothing when the step has no values (input.reader is nullptr, level stats).
LocalReplay replay_step(const RuleInput& input);

}  // namespace nanhunt::oracle
