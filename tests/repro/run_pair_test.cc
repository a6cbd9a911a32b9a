// SPDX-License-Identifier: Apache-2.0
// Two traces that are there already: equal, different at a named place, or honestly unknown.
#include "repro/run_pair.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/capsule/small_capsule.h"
#include "tests/compare/small_model.h"
#include "tests/support/scratch_folder.h"
#include "trace/error.h"

namespace nanhunt::repro {
namespace {

using capsule::Level;
using capsule::test::write_capsule;
using compare::test::build;
using compare::test::SmallModel;
using testing::Contains;
using testing::HasSubstr;

const LevelReport& level_of(const Report& report, Level level) {
  return *std::ranges::find(report.levels, level, &LevelReport::level);
}

class TwoTraces : public testing::Test {
 protected:
  Report report(const SmallModel& a, const SmallModel& b, const std::string& fact_of_b = "") {
    build(a).write(a_.path());
    auto builder = build(b);
    if (!fact_of_b.empty()) {
      for (auto& facts : builder.facts()) facts.facts["version"] = fact_of_b;
    }
    builder.write(b_.path());
    return again();
  }
  Report again() { return trace_and_trace(a_.path(), b_.path(), oracle::Thresholds::installed()); }

  ScratchFolder a_, b_;
};

SmallModel with_other_bit() {
  SmallModel model{.tp = 2};
  model.edit = [](const compare::test::Tap& tap, compare::test::Values& values) {
    if (tap.site == "fc1" && tap.role == "output" && tap.rank == 1)
      values[0] = std::nextafter(values[0], 1e9f);
  };
  return model;
}

TEST_F(TwoTraces, OfOneRunAreEqual) {
  const Report report = this->report({.tp = 2, .steps = 2}, {.tp = 2, .steps = 2});
  EXPECT_EQ(level_of(report, Level::kReplay).verdict, LevelVerdict::kEqual);
  EXPECT_EQ(level_of(report, Level::kState).verdict, LevelVerdict::kNotJudged);
  EXPECT_EQ(exit_status(report), 0);
  EXPECT_NO_THROW(to_text(report));
}

TEST_F(TwoTraces, TheFirstOtherBitIsNamed) {
  const Report report = this->report({.tp = 2}, with_other_bit());
  const LevelReport& replay = level_of(report, Level::kReplay);
  EXPECT_EQ(replay.verdict, LevelVerdict::kDifferent);
  EXPECT_THAT(replay.evidence, Contains(HasSubstr("first: step 0 fc1 forward output")));
}

TEST_F(TwoTraces, OfOtherMeshesNobodyKnowsWhatRoundingMayDo) {
  const Report report = this->report({.tp = 1}, {.tp = 2, .noise = 1e-3});
  EXPECT_EQ(level_of(report, Level::kReplay).verdict, LevelVerdict::kUnknown);
  EXPECT_THAT(level_of(report, Level::kReplay).evidence, Contains(HasSubstr("no envelope")));
  EXPECT_EQ(exit_status(report), 125);
}

TEST_F(TwoTraces, RecordsOfOneAloneLeaveItUnknown) {
  build({.tp = 2}).write(a_.path());
  auto builder = build({.tp = 2});
  builder.add({.site = "further"}, compare::test::normal_values(8, 1),
              compare::test::copies({2, 4}));
  builder.write(b_.path());
  const LevelReport replay = level_of(again(), Level::kReplay);
  EXPECT_EQ(replay.verdict, LevelVerdict::kUnknown);
  EXPECT_THAT(replay.evidence, Contains(HasSubstr("in B only: further forward output")));
}

TEST_F(TwoTraces, FactsAreToldAndNotJudged) {
  const Report report = this->report({.tp = 2}, {.tp = 2}, "2.0");
  const LevelReport& replay = level_of(report, Level::kReplay);
  EXPECT_EQ(replay.verdict, LevelVerdict::kEqual);
  EXPECT_THAT(replay.evidence, Contains("configuration: version is absent in A, 2.0 in B"));
}

TEST_F(TwoTraces, NoCommonStepIsNoReplay) {
  build({.tp = 2}).write(a_.path());
  compare::test::TraceBuilder later(2);
  later.begin_step(5);
  later.scalar({.rank = 0, .site = "x"}, 1);
  later.scalar({.rank = 1, .site = "x"}, 1);
  later.write(b_.path());
  std::filesystem::remove_all(b_.path() / "step-000000");
  const Report report = again();
  EXPECT_EQ(level_of(report, Level::kReplay).verdict, LevelVerdict::kUnknown);
  EXPECT_THAT(level_of(report, Level::kReplay).evidence, Contains(HasSubstr("there is none")));
}

TEST_F(TwoTraces, CapsulesInsideTellTheState) {
  for (const auto* folder : {&a_, &b_}) write_capsule(folder->path() / "capsules", {.tp = 2}, 0);
  const Report equal = report({.tp = 2}, {.tp = 2});
  EXPECT_EQ(level_of(equal, Level::kState).verdict, LevelVerdict::kEqual);
  EXPECT_THAT(level_of(equal, Level::kState).observable, HasSubstr("capsules@0"));
  // The twin: another state.
  std::filesystem::remove_all(b_.path() / "capsules");
  write_capsule(b_.path() / "capsules", {.tp = 2}, 0, [](trace::Segment& segment) {
    const size_t i = capsule::test::index_of(segment, "bias", "param");
    segment.values[i][1] ^= std::byte{1};
    capsule::test::print_again(segment, i);
  });
  const Report different = again();
  EXPECT_EQ(level_of(different, Level::kState).verdict, LevelVerdict::kDifferent);
  EXPECT_EQ(level_of(different, Level::kReplay).verdict, LevelVerdict::kEqual);
}

TEST_F(TwoTraces, AStateAfterTheFirstStepIsNoStart) {
  for (const auto* folder : {&a_, &b_}) write_capsule(folder->path() / "capsules", {.tp = 2}, 3);
  const Report report = this->report({.tp = 2}, {.tp = 2});
  EXPECT_EQ(level_of(report, Level::kState).verdict, LevelVerdict::kNotJudged);
  EXPECT_THAT(level_of(report, Level::kState).evidence,
              Contains(HasSubstr("none is of the state before step 0")));
}

TEST_F(TwoTraces, OneTraceIsNotHeldAgainstItself) {
  build({.tp = 2}).write(a_.path());
  EXPECT_THROW(trace_and_trace(a_.path(), a_.path(), oracle::Thresholds::installed()),
               trace::Error);
}

}  // namespace
}  // namespace nanhunt::repro
