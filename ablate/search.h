// SPDX-License-Identifier: Apache-2.0
// The search for the toggles that explain a failure: one variable at a time, from both ends. A
// configuration is the set of toggles that stand at their failing value, all others at the
// reference value. Off-tests (all but one) prove necessity, on-tests (one alone) sufficiency. A
// pure function over trials, which may be processes or a table.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace nanhunt::ablate {

enum class TrialResult {
  kPass,        // clean
  kFail,        // the same failure
  kUnresolved,  // time-out, crash, another failure, setting without effect, ...
};

struct TrialVerdict {
  TrialResult result = TrialResult::kUnresolved;
  std::string reason;  // when unresolved
};

using Configuration = std::set<std::string>;  // toggles at their failing value
// Tries several configurations, in any order or at once; one verdict each.
using TryAll = std::function<std::vector<TrialVerdict>(const std::vector<Configuration>&)>;

struct SearchResult {
  std::vector<std::string>
      necessary;  // whose single switch-off makes the failure go: the cause set
  std::vector<std::string> sufficient;  // that alone, switched on the reference, fail
  std::vector<std::pair<std::string, std::string>> undecided;  // off-trial could not tell, and why
  bool confirmed = false;  // the cause set alone fails, everything without it passes
  std::string why_not;     // when a cause set is not confirmed
  int trials = 0;          // distinct configurations tried
};

// `toggles`: those that differ between the failing and the reference side. That all of them fail
// and none of them passes is given. At most 2 n + 2 trials, in two rounds.
SearchResult search_cause(const std::vector<std::string>& toggles, const TryAll& try_all);
// The most trials that search_cause makes for that many toggles.
int most_trials(size_t toggles);

}  // namespace nanhunt::ablate
