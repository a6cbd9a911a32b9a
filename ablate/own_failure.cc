// SPDX-License-Identifier: Apache-2.0
#include "ablate/own_failure.h"

namespace nanhunt::ablate {
namespace {

constexpr int kCannotTell = 125;  // as in `git bisect run`

// "exit status 3", "killed by SIGSEGV", "time-out": without numbers that differ from run to run.
std::string kind_of(const ChildOutcome& outcome) {
  return outcome.end == ChildEnd::kTimedOut ? "time-out" : describe(outcome);
}

std::string with_detail(const std::string& text, const std::string& detail) {
  return detail.empty() ? text : text + ": " + detail;
}

OwnOutcome by_exit(const Run& run) {
  if (run.ended_well()) return {TrialResult::kPass, "", describe(run.outcome)};
  if (run.outcome.end == ChildEnd::kExited && run.outcome.status == kCannotTell) {
    return {TrialResult::kUnresolved, "", run.complaint()};
  }
  return {TrialResult::kFail, kind_of(run.outcome), run.complaint()};
}

OwnOutcome by_check(Runner& runner, const RunRequest& request, const Run& run) {
  const CheckRun check = runner.check(request, run);
  const std::string kind = "check " + kind_of(check.outcome);
  const std::string text = with_detail(kind, check.last_line);
  if (check.outcome.end != ChildEnd::kExited || check.outcome.status >= kCannotTell) {
    return {TrialResult::kUnresolved, "", text};
  }
  if (check.outcome.status != 0) return {TrialResult::kFail, kind, text};
  if (!run.ended_well()) {
    return {TrialResult::kUnresolved, "",
            "the check finds nothing, but the run: " + run.complaint()};
  }
  return {TrialResult::kPass, "", text};
}

std::string both_sides(const OwnOutcome& failing_side, const OwnOutcome& reference) {
  return "failing side: " + failing_side.text + "; reference: " + reference.text;
}

compare::Verdict verdict_of(compare::VerdictKind kind, const std::string& reason) {
  compare::Verdict verdict;
  verdict.kind = kind;
  verdict.reason = reason;
  return verdict;
}

}  // namespace

bool tells_failure_itself(const Subject& subject) {
  return subject.failure != FailureTest::kVerdict;
}

OwnOutcome own_outcome(Runner& runner, const RunRequest& request, const Run& run) {
  if (run.outcome.end == ChildEnd::kNotStarted) {
    return {TrialResult::kUnresolved, "", run.complaint()};
  }
  return runner.subject().failure == FailureTest::kCheck ? by_check(runner, request, run)
                                                         : by_exit(run);
}

TrialVerdict judge_own(const OwnOutcome& trial, const std::string& failure) {
  if (trial.result == TrialResult::kPass) return {TrialResult::kPass, ""};
  if (trial.result == TrialResult::kUnresolved) return {TrialResult::kUnresolved, trial.text};
  if (trial.failure == failure) return {TrialResult::kFail, ""};
  return {TrialResult::kUnresolved, "another failure: " + trial.text};
}

compare::Verdict own_verdict(const OwnOutcome& failing_side, const OwnOutcome& reference) {
  const std::string both = both_sides(failing_side, reference);
  switch (failing_side.result) {
    case TrialResult::kPass:
      return verdict_of(compare::VerdictKind::kPasses, both);
    case TrialResult::kUnresolved:
      return verdict_of(compare::VerdictKind::kUnresolved, both);
    case TrialResult::kFail:
      break;
  }
  if (reference.result == TrialResult::kPass) {
    return verdict_of(compare::VerdictKind::kFails, both);
  }
  const bool fails = reference.result == TrialResult::kFail;
  return verdict_of(compare::VerdictKind::kUnresolved,
                    (fails ? "the reference fails, too: " : "the reference cannot tell: ") + both);
}

}  // namespace nanhunt::ablate
