// SPDX-License-Identifier: Apache-2.0
#include "repro/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/capsule/small_capsule.h"
#include "trace/error.h"

namespace nanhunt::repro {
namespace {

using capsule::Level;
using testing::HasSubstr;

Report report_of(LevelVerdict state, LevelVerdict replay,
                 LevelVerdict convergence = LevelVerdict::kNotJudged) {
  Report report{"a question", {}, std::string(64, 'a')};
  const LevelVerdict verdicts[] = {state, replay, convergence};
  for (int i = 0; i < 3; ++i) {
    report.levels.push_back({static_cast<Level>(i),
                             "tensors",
                             "none",
                             verdicts[i],
                             {"seen"},
                             {std::filesystem::temp_directory_path()},
                             {"nanhunt repro"}});
  }
  return report;
}

TEST(ReproReport, AClaimWithoutItsArtifactIsRefused) {
  Report report = report_of(LevelVerdict::kEqual, LevelVerdict::kEqual);
  EXPECT_NO_THROW(to_json(report));
  report.levels[0].artifacts.clear();
  EXPECT_THROW(to_json(report), trace::Error);
  EXPECT_THROW(to_text(report), trace::Error);
  report.levels[0].artifacts = {"/nowhere/at/all"};
  EXPECT_THROW(to_json(report), trace::Error);
  report.levels[0].verdict = LevelVerdict::kNotJudged;  // no claim
  EXPECT_NO_THROW(to_json(report));
}

TEST(ReproReport, AClaimWithoutItsCommandIsRefused) {
  Report report = report_of(LevelVerdict::kEqual, LevelVerdict::kDifferent);
  report.levels[1].commands.clear();
  EXPECT_THROW(to_json(report), trace::Error);
}

TEST(ReproReport, LevelsSayWhatTheyMeanForTheOthers) {
  const auto broken_state = report_of(LevelVerdict::kDifferent, LevelVerdict::kDifferent);
  EXPECT_THAT(implication(broken_state, Level::kState), HasSubstr("replay and convergence"));
  EXPECT_THAT(implication(broken_state, Level::kReplay), HasSubstr("expected"));
  const auto broken_replay = report_of(LevelVerdict::kEqual, LevelVerdict::kDifferent);
  EXPECT_THAT(implication(broken_replay, Level::kState), HasSubstr("made by the step"));
  EXPECT_THAT(implication(broken_replay, Level::kReplay), HasSubstr("kernels"));
  const auto biased =
      report_of(LevelVerdict::kEqual, LevelVerdict::kWithin, LevelVerdict::kDifferent);
  EXPECT_THAT(implication(biased, Level::kConvergence), HasSubstr("too small for one step"));
  const auto equal = report_of(LevelVerdict::kEqual, LevelVerdict::kEqual);
  EXPECT_THAT(implication(equal, Level::kReplay), HasSubstr("cannot differ"));
  EXPECT_EQ(implication(equal, Level::kConvergence), "");
}

TEST(ReproReport, ExitStatusIsOfTheWorstLevel) {
  EXPECT_EQ(exit_status(report_of(LevelVerdict::kEqual, LevelVerdict::kWithin)), 0);
  EXPECT_EQ(exit_status(report_of(LevelVerdict::kEqual, LevelVerdict::kUnknown)), 125);
  EXPECT_EQ(exit_status(report_of(LevelVerdict::kDifferent, LevelVerdict::kUnknown)), 1);
}

TEST(ReproReport, JsonSaysWhatTheTextSays) {
  const auto json = to_json(report_of(LevelVerdict::kEqual, LevelVerdict::kWithin));
  EXPECT_EQ(json["schema"], "nanhunt.repro.1");
  EXPECT_EQ(json["levels"][1]["level"], "replay");
  EXPECT_EQ(json["levels"][1]["verdict"], "within");
  EXPECT_THAT(to_text(report_of(LevelVerdict::kEqual, LevelVerdict::kWithin)),
              HasSubstr("Level replay: within"));
}

TEST(ReproReport, TheTicketLeadsToWhatDecides) {
  auto report = report_of(LevelVerdict::kEqual, LevelVerdict::kDifferent);
  report.levels[1].evidence = {"8 of 8 records compared", "first: fc1", "and more"};
  report.levels[1].commands = {"nanhunt compare a b"};
  EXPECT_EQ(headline(report), "state equal, replay different, convergence not judged");
  EXPECT_EQ(ticket(report),
            "---- nanhunt ----\n"
            "question:  a question\n"
            "state:     equal; seen\n"
            "replay:    different; 8 of 8 records compared; first: fc1\n"
            "convergence: not judged; seen\n"
            "implies:   from one state the step gives another result: data, RNG, kernels or "
            "configuration; states drift apart from here on\n"
            "made by:   nanhunt compare a b\n"
            "thresholds aaaaaaaaaaaaaaaa\n"
            "-----------------\n");
  EXPECT_THAT(to_text(report), testing::EndsWith(ticket(report)));
  const auto equal = report_of(LevelVerdict::kEqual, LevelVerdict::kEqual);
  EXPECT_THAT(ticket(equal), testing::Not(HasSubstr("made by")));
}

}  // namespace
}  // namespace nanhunt::repro
