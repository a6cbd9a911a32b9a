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
using testing::Not;

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
                             {NANHUNT_SOURCE_DIR},  // any place that is there
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
  EXPECT_THAT(implication(broken_replay, Level::kReplay), HasSubstr("only level convergence says"));
  const auto biased =
      report_of(LevelVerdict::kEqual, LevelVerdict::kWithin, LevelVerdict::kDifferent);
  EXPECT_THAT(implication(biased, Level::kConvergence), HasSubstr("too small for one step"));
  const auto equal = report_of(LevelVerdict::kEqual, LevelVerdict::kEqual);
  EXPECT_THAT(implication(equal, Level::kReplay), HasSubstr("cannot differ"));
  EXPECT_EQ(implication(equal, Level::kConvergence), "");
}

// State alone: what differs was not read.
TEST(ReproReport, AStateThatNoStepReadsBreaksNoReplay) {
  for (const LevelVerdict holds : {LevelVerdict::kEqual, LevelVerdict::kWithin}) {
    const auto report = report_of(LevelVerdict::kDifferent, holds);
    EXPECT_THAT(implication(report, Level::kState), HasSubstr("do not read what differs"));
    EXPECT_THAT(implication(report, Level::kState), Not(HasSubstr("are broken with it")));
  }
}

// Convergence alone, or after the others.
TEST(ReproReport, CurvesThatDifferAreNoNewsWhereStepsDo) {
  const auto of = [](LevelVerdict state, LevelVerdict replay,
                     LevelVerdict convergence = LevelVerdict::kDifferent) {
    return implication(report_of(state, replay, convergence), Level::kConvergence);
  };
  using enum LevelVerdict;
  EXPECT_EQ(of(kDifferent, kDifferent), "expected: the state differs");
  EXPECT_THAT(of(kEqual, kDifferent), HasSubstr("expected: single steps differ"));
  EXPECT_THAT(of(kEqual, kWithin), HasSubstr("state and replay are not broken by it"));
  // Bits that are equal hold no bias.
  EXPECT_THAT(of(kEqual, kEqual), HasSubstr("begins after those steps"));
  EXPECT_THAT(of(kNotJudged, kNotJudged), HasSubstr("do not train alike"));
  EXPECT_THAT(of(kEqual, kDifferent, kWithin), HasSubstr("is there all the same"));
  EXPECT_THAT(of(kEqual, kWithin, kWithin), HasSubstr("says nothing of state"));
  EXPECT_EQ(of(kEqual, kWithin, kUnknown), "neither shown alike nor different");
}

TEST(ReproReport, CurvesThatWereJudgedStandInTheJson) {
  Report report = report_of(LevelVerdict::kEqual, LevelVerdict::kWithin, LevelVerdict::kWithin);
  EXPECT_FALSE(to_json(report)["levels"][2].contains("convergence"));
  report.levels[2].convergence = Convergence{};
  EXPECT_EQ(to_json(report)["levels"][2]["convergence"], to_json(Convergence{}));
}

// A part stands beside the level: it is told and counts, and the level's meaning hangs not on it.
TEST(ReproReport, PartsAreNoLevels) {
  Report report = report_of(LevelVerdict::kEqual, LevelVerdict::kEqual);
  LevelReport part = report.levels[0];
  part.part = "names";
  part.verdict = LevelVerdict::kDifferent;
  report.levels.insert(report.levels.begin(), part);
  EXPECT_THAT(implication(report, Level::kState), HasSubstr("made by the step"));
  EXPECT_EQ(exit_status(report), 1);
  const auto json = to_json(report);
  EXPECT_EQ(json["levels"][0]["part"], "names");
  EXPECT_EQ(json["levels"][0]["implies"], "");
  EXPECT_EQ(json["levels"][1]["part"], "");
  EXPECT_THAT(to_text(report), HasSubstr("Level state, names: different"));
  report.levels[0].artifacts.clear();
  EXPECT_THROW(to_json(report), trace::Error);
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
            "configuration; states and curves drift apart from here on, and whether they are "
            "still equivalent only level convergence says\n"
            "made by:   nanhunt compare a b\n"
            "thresholds aaaaaaaaaaaaaaaa\n"
            "-----------------\n");
  EXPECT_THAT(to_text(report), testing::EndsWith(ticket(report)));
  const auto equal = report_of(LevelVerdict::kEqual, LevelVerdict::kEqual);
  EXPECT_THAT(ticket(equal), testing::Not(HasSubstr("made by")));
}

}  // namespace
}  // namespace nanhunt::repro
