// SPDX-License-Identifier: Apache-2.0
// The ablation of one failure: which toggles explain it, as the cause of a verdict.
#pragma once

#include <string>
#include <vector>

#include "ablate/trial.h"

namespace nanhunt::ablate {

struct TrialRow {
  std::string name;  // "off layout.sp"
  TrialVerdict verdict;
  double seconds = 0;
};

struct Explanation {
  compare::Cause cause;
  std::vector<TrialRow> trials;
};

// Runs the search, `jobs` trials at a time.
Explanation explain(const TrialContext& context, int jobs);

// The sentence that sums a search up. Without a cause set it depends on what the failure accuses:
// single ranks told apart on one trace point at data or hardware, anything else stays open.
std::string cause_statement(const SearchResult& search, const compare::Verdict& failure,
                            int32_t failing_ranks);

}  // namespace nanhunt::ablate
