// SPDX-License-Identifier: Apache-2.0
// What a run without a trace says of itself, by its exit status or by a check.
#include "ablate/own_failure.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/scratch_folder.h"

namespace nanhunt::ablate {
namespace {

namespace fs = std::filesystem;

const TrialResult kPass = TrialResult::kPass;
const TrialResult kFail = TrialResult::kFail;
const TrialResult kUnresolved = TrialResult::kUnresolved;

class OwnFailure : public ::testing::Test {
 protected:
  // A fresh run of that shell script, judged as `failure` says.
  OwnOutcome outcome(const std::string& failure, const std::string& script, double timeout_s = 60) {
    std::ofstream(folder_ / "job.sh") << script << "\n";
    const Subject subject = parse_subject(
        "command = sh " + (folder_ / "job.sh").string() + "\nfailure = " + failure + "\n",
        folder_ / "job.subject");
    Runner runner(children_, subject, "build", folder_ / ("work" + std::to_string(made_++)), {},
                  {});
    RunRequest request;
    request.timeout_s = timeout_s;
    const ablate::Run run = runner.run(request);
    return own_outcome(runner, request, run);
  }

  const ScratchFolder folder_;
  ChildRunner children_;
  int made_ = 0;
};

TEST_F(OwnFailure, IsTheExitStatus) {
  EXPECT_EQ(outcome("exit", "exit 0").result, kPass);
  const OwnOutcome failed = outcome("exit", "echo loss is nan >&2; exit 3");
  EXPECT_EQ(failed.result, kFail);
  EXPECT_EQ(failed.failure, "exit status 3");
  EXPECT_EQ(failed.text, "exit status 3: loss is nan");
  EXPECT_EQ(outcome("exit", "exit 124").result, kFail);
  EXPECT_EQ(outcome("exit", "exit 125").result, kUnresolved);
  EXPECT_EQ(outcome("exit", "exit 126").result, kFail);
}

TEST_F(OwnFailure, SignalsAndTimeOutsAreKindsOfTheirOwn) {
  const OwnOutcome signal = outcome("exit", "kill -SEGV $$");
  EXPECT_EQ(signal.result, kFail);
  EXPECT_EQ(signal.failure, "killed by SIGSEGV");
  const OwnOutcome late = outcome("exit", "exec sleep 1000", 0.2);
  EXPECT_EQ(late.result, kFail);
  EXPECT_EQ(late.failure, "time-out");
}

TEST_F(OwnFailure, IsWhatTheCheckSays) {
  const auto checked = [&](const std::string& status) {
    return outcome("check sh -c 'echo seen; exit " + status + "'", "exit 0");
  };
  EXPECT_EQ(checked("0").result, kPass);
  EXPECT_EQ(checked("1").result, kFail);
  EXPECT_EQ(checked("124").result, kFail);
  EXPECT_EQ(checked("125").result, kUnresolved);
  EXPECT_EQ(checked("126").result, kUnresolved);
  EXPECT_EQ(checked("200").result, kUnresolved);
  EXPECT_EQ(checked("7").failure, "check exit status 7");
  EXPECT_EQ(checked("7").text, "check exit status 7: seen");
  EXPECT_EQ(outcome("check no-such-program-anywhere", "exit 0").result, kUnresolved);
}

TEST_F(OwnFailure, TheCheckReadsWhatTheRunLeft) {
  std::ofstream(folder_ / "check.sh") << "grep -q out-here \"$1\" && grep -q err-here \"$2\" &&"
                                         " test -d \"$3\" && test -d \"$4\"\n";
  const std::string check = "check sh {here}/check.sh {stdout} {stderr} {trace} {folder}";
  EXPECT_EQ(outcome(check, "echo out-here; echo err-here >&2").result, kPass);
  EXPECT_EQ(outcome(check, "echo out-here").result, kFail);
}

TEST_F(OwnFailure, ACheckDoesNotPassARunThatEndedBadly) {
  const OwnOutcome crashed = outcome("check true", "exit 9");
  EXPECT_EQ(crashed.result, kUnresolved);
  EXPECT_EQ(crashed.text, "the check finds nothing, but the run: exit status 9");
  EXPECT_EQ(outcome("check sh -c 'exit 1'", "exit 9").result, kFail);
}

OwnOutcome failed(const std::string& kind) {
  return {kFail, kind, kind + ": detail"};
}

TEST(JudgeOwn, TheSameKindIsTheSameFailure) {
  EXPECT_EQ(judge_own(failed("exit status 3"), "exit status 3").result, kFail);
  const TrialVerdict other = judge_own(failed("exit status 1"), "exit status 3");
  EXPECT_EQ(other.result, kUnresolved);
  EXPECT_EQ(other.reason, "another failure: exit status 1: detail");
  EXPECT_EQ(judge_own({kPass, "", "exit status 0"}, "exit status 3").result, kPass);
  EXPECT_EQ(judge_own({kUnresolved, "", "exit status 125"}, "exit status 3").reason,
            "exit status 125");
}

TEST(OwnVerdict, HangsOnBothSides) {
  const OwnOutcome passed{kPass, "", "exit status 0"};
  const OwnOutcome unclear{kUnresolved, "", "exit status 125"};
  const auto status = [](const OwnOutcome& failing_side, const OwnOutcome& reference) {
    return compare::exit_status(own_verdict(failing_side, reference));
  };
  EXPECT_EQ(status(failed("exit status 3"), passed), 1);
  EXPECT_EQ(status(passed, passed), 0);
  EXPECT_EQ(status(passed, failed("exit status 3")), 0);
  EXPECT_EQ(status(failed("exit status 3"), failed("exit status 3")), 125);
  EXPECT_EQ(status(failed("exit status 3"), unclear), 125);
  EXPECT_EQ(status(unclear, passed), 125);
  EXPECT_EQ(own_verdict(failed("exit status 3"), passed).reason,
            "failing side: exit status 3: detail; reference: exit status 0");
}

}  // namespace
}  // namespace nanhunt::ablate
