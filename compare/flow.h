// SPDX-License-Identifier: Apache-2.0
// What each record of a step consumed: its links on the same rank, for results of collectives the
// operands of every rank whose data it got, and what clipping consumes (clip_flow.h). Calls of one
// collective on several ranks are matched by group, sequence number in the group, and operation.
#pragma once

#include <vector>

#include "trace/trace_reader.h"

namespace nanhunt::compare {

// Calls (indices into Step::collectives) that make up one collective.
using CollectiveCalls = std::vector<int>;

class Flow {
 public:
  // Keeps a reference to the step.
  explicit Flow(const trace::Step& step);

  // Indices of the records that went into this one; each once, sorted.
  const std::vector<int>& inputs(int record) const { return inputs_[static_cast<size_t>(record)]; }
  const std::vector<CollectiveCalls>& collectives() const { return collectives_; }
  // Calls whose every group member issued it.
  int64_t matched_calls() const;

  // True when the data of call `from` reaches the result of call `to`; both of one collective.
  bool data_flows(int from, int to) const;

 private:
  void add_links();
  void match_collectives();
  void add_operands(const CollectiveCalls& calls);

  const trace::Step& step_;
  std::vector<std::vector<int>> inputs_;
  std::vector<CollectiveCalls> collectives_;
};

}  // namespace nanhunt::compare
