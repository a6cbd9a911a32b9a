// SPDX-License-Identifier: Apache-2.0
// Level convergence of a case, from its runs on: what is run, what is judged, what stands in the
// report; and that a healthy pair of set-ups is shown to be one.
#include "repro/convergence_level.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "repro/case_report.h"
#include "tests/repro/paired_bench.h"
#include "trace/error.h"

namespace nanhunt::repro {
namespace {

using test::Environment;
using test::paired_plan;
using test::PairedBench;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

LevelReport level(PairedBench& bench, const PairedPlan& plan) {
  require_possible((*bench).the_case(), plan);
  return convergence_level(*bench, plan);
}

// Set-ups that differ by less than chance, and by more than the margin.
TEST(ConvergenceLevel, TellsABiasFromChance) {
  for (const Pairing pairing : {Pairing::kLayouts, Pairing::kResume}) {
    const char* broken_runs = pairing == Pairing::kResume ? "resume" : "b";
    PairedBench healthy, biased(Environment{{"BIAS", "0.01"}, {"BROKEN", broken_runs}});
    const LevelReport twin = level(healthy, paired_plan(pairing));
    EXPECT_EQ(twin.verdict, LevelVerdict::kWithin) << testing::PrintToString(twin.evidence);
    const LevelReport broken = level(biased, paired_plan(pairing));
    EXPECT_EQ(broken.verdict, LevelVerdict::kDifferent) << testing::PrintToString(broken.evidence);
    EXPECT_THAT(broken.evidence, Contains(HasSubstr("late_loss: different")));
  }
}

TEST(ConvergenceLevel, ALateBiasIsLateLossAlone) {
  PairedBench bench(Environment{{"BIAS", "0.01"}, {"BIAS_FROM", "8"}});
  const LevelReport broken = level(bench, paired_plan(Pairing::kLayouts));
  EXPECT_THAT(broken.evidence, Contains(HasSubstr("early_loss: equivalent")));
  EXPECT_THAT(broken.evidence, Contains(HasSubstr("late_loss: different")));
}

TEST(ConvergenceLevel, NanOfOneSeedIsADifference) {
  PairedBench bench(Environment{{"NAN_SEED", "3"}});
  const LevelReport broken = level(bench, paired_plan(Pairing::kLayouts));
  EXPECT_EQ(broken.verdict, LevelVerdict::kDifferent);
  EXPECT_THAT(broken.evidence, Contains(HasSubstr("pair 3")));
}

// The margin does not come from what it judges: no seed is in both.
TEST(ConvergenceLevel, SeedsOfTheMarginAreOthers) {
  PairedBench bench;
  const PairedCurves curves = run_pairs(*bench, paired_plan(Pairing::kLayouts));
  EXPECT_EQ(bench.runs_started(), 18);
  ASSERT_EQ(curves.pairs.size(), 5u);
  ASSERT_EQ(curves.same.size(), 4u);
  std::set<double> judged, same;
  for (const CurvePair& pair : curves.pairs) judged.insert(pair.a.losses.front());
  for (const CurvePair& pair : curves.same) same.insert(pair.a.losses.front());
  EXPECT_EQ(judged.size(), 5u) << "a seed was run twice";
  EXPECT_EQ(same.size(), 4u);
  for (const double loss : same) EXPECT_FALSE(judged.contains(loss));
  for (const CurvePair& pair : curves.same) EXPECT_NE(pair.a.losses, pair.b.losses);
}

TEST(ConvergenceLevel, AnAbsoluteMarginNeedsNoOtherSeeds) {
  PairedBench bench;
  PairedPlan plan = paired_plan(Pairing::kLayouts);
  for (Criterion& criterion : plan.criteria.criteria) criterion.margin = {0.005};
  plan.same = 0;
  EXPECT_EQ(level(bench, plan).verdict, LevelVerdict::kWithin);
  EXPECT_EQ(bench.runs_started(), 10);
}

TEST(ConvergenceLevel, ResumedCurvesBeginWhereTheyWereResumed) {
  PairedBench bench;
  const PairedCurves curves = run_pairs(*bench, paired_plan(Pairing::kResume));
  const std::vector<int64_t> steps{4, 5, 6, 7, 8, 9};
  for (const auto* group : {&curves.pairs, &curves.same})
    for (const CurvePair& pair : *group) {
      EXPECT_EQ(pair.a.steps, steps);
      EXPECT_EQ(pair.b.steps, steps);
    }
}

// The report's command gives the judgement again from the report's files.
TEST(ConvergenceLevel, FilesAndCommandRepeatIt) {
  PairedBench bench(Environment{{"BIAS", "0.01"}});
  PairedPlan plan = paired_plan(Pairing::kLayouts);
  plan.criteria.criteria[1].margin = {1.0 / 3, true};
  plan.criteria.alpha = 0.01;
  const LevelReport made = level(bench, plan);
  ASSERT_EQ(made.artifacts.size(), 18u);
  for (const auto& file : made.artifacts) EXPECT_TRUE(std::filesystem::exists(file)) << file;
  ASSERT_EQ(made.commands.size(), 1u);
  const std::string& command = made.commands[0];
  EXPECT_THAT(command, HasSubstr("nanhunt repro --margin early_loss=2.0sd --margin "
                                 "late_loss=0.3333333333333333sd"));
  EXPECT_THAT(command, HasSubstr(" --alpha 0.01 --pair "));
  const std::string a = made.artifacts[0].string(), b = made.artifacts[1].string();
  EXPECT_THAT(command, HasSubstr(" --pair " + a + "=" + b + " "));
  EXPECT_THAT(command, HasSubstr(" --aa " + made.artifacts[10].string() + "="));
  // What was judged is what stands in the files.
  ASSERT_TRUE(made.convergence.has_value());
  const Curve first = read_curve(made.artifacts[0], {});
  EXPECT_EQ(summarise(first, Metric::kEarly, {}), made.convergence->metrics[0].values[0].a);
}

TEST(ConvergenceLevel, ARunThatFailsLeavesItUnknown) {
  PairedBench bench(Environment{{"FAIL_SEED", "4"}});
  const PairedPlan plan = paired_plan(Pairing::kLayouts);
  const LevelReport failed = level(bench, plan);
  EXPECT_EQ(failed.verdict, LevelVerdict::kUnknown);
  EXPECT_THAT(failed.evidence,
              Contains(HasSubstr("seed 4, side A: exit status 3: paired_job: out of luck")));
  EXPECT_EQ(failed.commands, std::vector<std::string>{plan.again});
}

TEST(ConvergenceLevel, StandsInTheReportOfACase) {
  PairedBench bench(Environment{{"BIAS", "0.01"}, {"BROKEN", "resume"}});
  const Report report =
      save_and_resume(*bench, bench.thresholds(), 2, paired_plan(Pairing::kResume));
  const auto json = to_json(report);
  ASSERT_EQ(json["levels"].size(), 3u);
  const auto& level = json["levels"][2];
  EXPECT_EQ(level["level"], "convergence");
  EXPECT_EQ(level["verdict"], "different");
  EXPECT_EQ(level["convergence"], to_json(*report.levels[2].convergence));
  EXPECT_EQ(level["convergence"]["verdict"], "different");
  EXPECT_FALSE(json["levels"][0].contains("convergence"));
  EXPECT_EQ(exit_status(report), 1);
}

TEST(ConvergenceLevel, IsNotJudgedWithoutAPlanAndSaysHow) {
  PairedBench bench;
  const Report report = save_and_resume(*bench, bench.thresholds(), 2);
  EXPECT_EQ(report.levels[2].verdict, LevelVerdict::kNotJudged);
  EXPECT_THAT(report.levels[2].evidence, Contains(HasSubstr("a.case --seeds 5 --margin 2sd")));
  EXPECT_EQ(exit_status(report), 0);
}

// A program that cannot save its state can still be run as a whole.
TEST(ConvergenceLevel, NeedsNoCapsulesForWholeRuns) {
  PairedBench bench(Environment{{"BIAS", "0.01"}});
  bench.the_case().subject.capsules.clear();
  const PairedPlan plan = paired_plan(Pairing::kLayouts);
  const Report report = layout_and_layout(*bench, bench.thresholds(), 2, plan);
  ASSERT_EQ(report.levels.size(), 3u);
  EXPECT_EQ(report.levels[0].verdict, LevelVerdict::kNotJudged);
  EXPECT_EQ(report.levels[1].verdict, LevelVerdict::kNotJudged);
  EXPECT_EQ(report.levels[2].verdict, LevelVerdict::kDifferent);
  EXPECT_THAT(to_text(report), HasSubstr("has no `capsules =`"));
}

std::string refusal(PairedBench& bench, const PairedPlan& plan) {
  try {
    require_possible((*bench).the_case(), plan);
  } catch (const trace::Error& error) {
    EXPECT_EQ(error.kind(), trace::ErrorKind::kUsage);
    return error.what();
  }
  return "";
}

TEST(PairedRuns, RefuseWhatCannotBe) {
  PairedBench bench;
  PairedPlan plan = paired_plan(Pairing::kResume);
  EXPECT_EQ(refusal(bench, plan), "");
  plan.at = 10;
  EXPECT_THAT(refusal(bench, plan), HasSubstr("step 10 is not inside the 10 steps"));
  plan = paired_plan(Pairing::kResume);
  plan.seeds = 1;
  EXPECT_THAT(refusal(bench, plan), HasSubstr("one pair alone shows no spread"));
  plan = paired_plan(Pairing::kResume);
  plan.same = 1;
  EXPECT_THAT(refusal(bench, plan), HasSubstr("1 A/A pairs"));
  plan.criteria.criteria = {{Metric::kLate, {0.1}}};
  EXPECT_EQ(refusal(bench, plan), "");
}

TEST(PairedRuns, NeedASeed) {
  PairedBench without(Environment{}, "[param.extra]\narg = --extra={value}\n");
  EXPECT_THAT(refusal(without, paired_plan(Pairing::kLayouts)),
              HasSubstr("has no seed to run several of"));
  PairedBench text;
  text.the_case().failing["seed"] = "first";
  EXPECT_THAT(refusal(text, paired_plan(Pairing::kLayouts)), HasSubstr("no whole number"));
}

TEST(PairedRuns, SayWhatTheyCostFirst) {
  PairedBench bench;
  EXPECT_EQ(price_text((*bench).the_case(), paired_plan(Pairing::kLayouts)),
            "5 pairs (seeds 1 to 5) and 4 A/A pairs (seeds 6 to 9) of 10 steps: 18 runs; power "
            "0.95 at margin 2sd");
}

// The trace shows nothing of what the steps left in the optimizer: the capsule at the end does.
TEST(CaseReport, StateThatStepsMadeDifferentBreaksReplay) {
  PairedBench healthy, broken(Environment{{"LATE_STATE", "1"}});
  const Report equal = save_and_resume(*healthy, healthy.thresholds(), 2);
  EXPECT_EQ(equal.levels[1].verdict, LevelVerdict::kEqual)
      << testing::PrintToString(equal.levels[1].evidence);
  const Report report = save_and_resume(*broken, broken.thresholds(), 2);
  EXPECT_EQ(report.levels[0].verdict, LevelVerdict::kEqual);
  EXPECT_EQ(report.levels[1].verdict, LevelVerdict::kDifferent);
  EXPECT_THAT(report.levels[1].evidence, Contains(HasSubstr("exp_avg is all zero in B")));
}

}  // namespace
}  // namespace nanhunt::repro
