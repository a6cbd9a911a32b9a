// SPDX-License-Identifier: Apache-2.0
// From a record that is out of rule back through what it consumed, past records that nobody judged,
// to the nearest judged ones: bad, undecided or within. On demand undecided ones are passed too:
// what is bad behind them explains more than they do.
//
// What counts as judged depends on the rule. That a value is finite is known of every record. That
// copies agree is known where there are copies, or a reference. How far a value is off is known
// from the reference alone. A record with a finding of any rule is bad.
#pragma once

#include <vector>

#include "compare/side_step.h"

namespace nanhunt::compare {

struct Boundary {
  std::vector<int> bad;
  std::vector<int> undecided;
  int64_t within = 0;
  double squared_error_in = 0;  // sum of squared relative errors of the judged inputs
  std::vector<int> carried;     // unjudged parameters at the start of the step
  std::vector<int> passed;      // other tensors of floating type that nobody judged

  bool judged() const { return !bad.empty() || !undecided.empty() || within > 0; }
};

class OriginWalk {
 public:
  explicit OriginWalk(const SideStep& side);

  // Over the inputs of all these records together; the records themselves are not inputs.
  Boundary walk(const std::vector<int>& records, const std::string& rule,
                bool through_undecided = false);

 private:
  enum class Mark { kPass, kBad, kUndecided, kWithin };
  Mark mark(int record, const std::string& rule) const;

  const SideStep& side_;
  std::vector<int> seen_;  // by record: number of the walk that met it
  int walks_ = 0;
};

// Parameters as the step finds them: their producer is the step before.
bool is_carried_state(const trace::Record& record);

}  // namespace nanhunt::compare
