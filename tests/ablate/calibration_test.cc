// SPDX-License-Identifier: Apache-2.0
// Repeats in one process and repeats as runs of their own: the same draws, the same envelope.
#include "ablate/calibration.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "ablate/bench.h"
#include "tests/support/scratch_folder.h"
#include "trace/error.h"

namespace nanhunt::ablate {
namespace {

namespace fs = std::filesystem;
using Lines = std::vector<std::string>;

class Calibration : public ::testing::Test {
 protected:
  Runner make(const std::string& calibrate, const std::string& words = "{toggles}",
              const std::string& work = "", std::map<std::string, std::string> environment = {}) {
    environment["SEEN"] = (folder_ / "seen").string();
    const std::string text = "command = " + std::string(NANHUNT_REPEATING_JOB) + " " + words +
                             "\ncalibrate = " + calibrate +
                             "\n[toggle.a]\nvalues = off on\nreference = off\narg = --a={value}\n";
    return Runner(children_, parse_subject(text, "job.subject"), "build",
                  folder_ / (work.empty() ? calibrate : work), environment, {});
  }
  RunRequest reference() {
    RunRequest request;
    request.purpose = "reference";
    request.settings = {{"a", "off"}};
    request.plan.level = trace::Level::kFull;
    return request;
  }
  // Runs the reference, calibrates, and returns the envelope's file.
  std::string calibrate(Runner& runner, uint64_t seed = 5) {
    const trace::TraceReader trace(runner.run(reference()).trace);
    Calibrator calibrator(runner, runner.work());
    const auto envelope = calibrator.envelope(trace, trace, {reference(), 4, seed, 3});
    std::ostringstream text;
    text << std::ifstream(runner.work() / ("envelope-" + envelope->key + ".json")).rdbuf();
    return text.str();
  }
  // Seeds of what was trained since the last call, sorted: runs may end in any order.
  Lines seen() {
    Lines lines;
    std::ifstream stream(folder_ / "seen");
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    std::sort(lines.begin(), lines.end());
    fs::remove(folder_ / "seen");
    return lines;
  }

  const ScratchFolder folder_;
  ChildRunner children_;
};

TEST_F(Calibration, ByRunsDrawsWhatOneProcessDraws) {
  Runner process = make("process"), runs = make("runs");
  const std::string by_process = calibrate(process);
  EXPECT_EQ(seen(), (Lines{"6", "7", "8", "none", "none"}));
  const std::string by_runs = calibrate(runs);
  EXPECT_EQ(seen(), (Lines{"6", "7", "8", "none"})) << "the first is the reference run itself";
  // The draws depend on the seeds: equal envelopes say something.
  EXPECT_NE(calibrate(runs, 9), by_runs);
  // Keys are hashes of equal plans and equal command lines.
  EXPECT_EQ(by_runs, by_process);
}

TEST_F(Calibration, ByRunsAsksNoProgramToRepeatItself) {
  Runner runs = make("runs", "--once");
  calibrate(runs);
  EXPECT_EQ(seen().size(), 4u);
  Runner process = make("process", "--once");
  EXPECT_THROW(calibrate(process), trace::Error);
}

TEST(CalibrationOf, SeveralProcessesAreRunOncePerRepeat) {
  const std::string toggle = "[toggle.tp]\nvalues = 1 2\nreference = 1\narg = --tp={value}\n";
  const std::string ranks = "ranks = tp\n";
  const auto of = [&](const std::string& command, const std::string& tp) {
    const Subject subject = parse_subject("command = " + command + "\n" + ranks + toggle, "job");
    return calibration_of(subject, {{"tp", tp}});
  };
  EXPECT_EQ(of("launch -n {ranks} job {toggles}", "1"), Calibrate::kProcess);
  EXPECT_EQ(of("launch -n {ranks} job {toggles}", "2"), Calibrate::kRuns);
  EXPECT_EQ(of("job {toggles}", "2"), Calibrate::kProcess) << "ranks as threads begin anew";
}

TEST_F(Calibration, ByRunsKeepsTheReferenceAndGoesOnWhereItWasStopped) {
  {
    Runner runs = make("runs");
    calibrate(runs);
    EXPECT_TRUE(fs::is_directory(runs.run(reference()).trace));
  }
  seen();
  Runner again = make("runs");
  calibrate(again);
  EXPECT_TRUE(seen().empty()) << "the envelope is there";
}

// What the children alone are told of shows in the values of the reference, or not at all.
TEST_F(Calibration, IsSharedByRunnersWhoseReferencesHaveTheSameValues) {
  const auto calibrated = [&](const std::string& work, const std::string& fault) {
    Runner runner = make("runs", "{toggles}", work, {{"FAULT", fault}});
    const trace::TraceReader trace(runner.run(reference()).trace);
    seen();
    Calibrator calibrator(runner, folder_ / "envelopes");
    return calibrator.envelope(trace, trace, {reference(), 4, 5, 3})->key;
  };
  const std::string healthy = calibrated("healthy", "0");
  EXPECT_EQ(seen().size(), 3u);
  EXPECT_EQ(calibrated("elsewhere", "0.0"), healthy);
  EXPECT_TRUE(seen().empty()) << "another runner calibrated for it";
  EXPECT_NE(calibrated("faulty", "1e-6"), healthy);
  EXPECT_EQ(seen().size(), 3u);
}

TEST_F(Calibration, NamesTheRunThatFailed) {
  Runner runs = make("runs");
  const trace::TraceReader trace(runs.run(reference()).trace);
  RunRequest refused = reference();
  refused.timeout_s = 1e-6;
  refused.steps = 2;
  try {
    Calibrator(runs, runs.work()).envelope(trace, trace, {refused, 3, 5, 1});
    FAIL() << "calibrated from runs that were ended";
  } catch (const trace::Error& error) {
    EXPECT_EQ(std::string(error.what()).find("calibration"), 0u) << error.what();
  }
}

TEST(CalibrationRepeats, CaseBeforeSubjectBeforeThresholds) {
  const auto thresholds =
      oracle::Thresholds::read(fs::path(NANHUNT_SOURCE_DIR) / "share/nanhunt/thresholds.json");
  const auto usual = static_cast<int32_t>(thresholds["calibration_repeats"]);
  Case the_case;
  EXPECT_EQ(calibration_repeats(the_case, thresholds), usual);
  the_case.subject.repeats = 3;
  EXPECT_EQ(calibration_repeats(the_case, thresholds), 3);
  the_case.thresholds["calibration_repeats"] = usual;  // the case's, merged by the caller
  EXPECT_EQ(calibration_repeats(the_case, thresholds), usual);
}

}  // namespace
}  // namespace nanhunt::ablate
