// SPDX-License-Identifier: Apache-2.0
// Failures that the subject tells itself, by the exit status of its command or by a check that runs
// afterwards. Such a subject needs no hooks, no trace, no calibration and no comparison: which
// toggles make it fail is all that is asked.
#pragma once

#include <string>

#include "ablate/runner.h"
#include "ablate/search.h"
#include "compare/verdict.h"

namespace nanhunt::ablate {

bool tells_failure_itself(const Subject& subject);

// What a run says of itself.
struct OwnOutcome {
  TrialResult result = TrialResult::kUnresolved;
  std::string failure;  // kFail: its kind, equal where it is the same failure: "exit status 3"
  std::string text;     // for people: "exit status 3: loss is nan"
};

// exit:  0 passes, 125 is unresolved, any other status, a signal and a time-out fail, each as a
//        kind of its own.
// check: its status 0 passes, 1 to 124 fails, all else is unresolved. A run that ended badly is not
//        passed by a check that found nothing: it may not have got there.
// Runs the check.
OwnOutcome own_outcome(Runner& runner, const RunRequest& request, const Run& run);

// A trial's outcome held against the failure that is hunted.
TrialVerdict judge_own(const OwnOutcome& trial, const std::string& failure);

// The verdict over both sides, without a cause: fails, passes or unresolved.
compare::Verdict own_verdict(const OwnOutcome& failing_side, const OwnOutcome& reference);

}  // namespace nanhunt::ablate
