// SPDX-License-Identifier: Apache-2.0
#include "golden/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <limits>

#include "golden/export.h"
#include "tests/compare/small_model.h"

namespace nanhunt::golden {
namespace {

using compare::test::Edit;
using compare::test::SmallModel;
using compare::test::Tap;
using compare::test::TraceBuilder;
using compare::test::Values;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

SmallModel quiet() {
  return {.tp = 2, .steps = 2};
}

// As if a reduction added up in another order each time.
SmallModel noisy(uint64_t seed, double noise = 1e-5) {
  SmallModel model = quiet();
  model.noise = noise;
  model.noise_seed = seed;
  return model;
}

Golden exported(const std::vector<SmallModel>& models, ExportOptions options = {}) {
  std::deque<TraceBuilder> builders;
  std::vector<compare::TraceSource> sources;
  for (const auto& model : models) builders.push_back(build(model));
  for (const auto& builder : builders) sources.push_back(builder.source());
  return export_runs(sources, compare::test::thresholds(), options);
}

Result checked(const Golden& golden, const SmallModel& model,
               const std::map<std::string, std::string>& facts = {}) {
  TraceBuilder builder = build(model);
  for (auto& rank : builder.facts()) rank.facts.insert(facts.begin(), facts.end());
  return check_run(golden, builder.source(), compare::test::thresholds());
}

Golden of_noisy_runs(int runs) {
  std::vector<SmallModel> models;
  for (int i = 1; i <= runs; ++i) models.push_back(noisy(static_cast<uint64_t>(i)));
  return exported(models);
}

SmallModel with(SmallModel model, const std::string& site, int rank, const Edit& edit) {
  model.edit = [=](const Tap& tap, Values& values) {
    if (tap.site == site && tap.rank == rank && tap.role == "output" && tap.step == 1)
      edit(tap, values);
  };
  return model;
}

void one_bit(const Tap&, Values& values) {
  values[3] = std::nextafter(values[3], 1e9F);
}

void scaled(const Tap&, Values& values) {
  for (float& value : values) value *= 1.01F;
}

void nan(const Tap&, Values& values) {
  values[5] = std::numeric_limits<float>::quiet_NaN();
}

TEST(GoldenCheck, TheSameRunIsTheSame) {
  const Result result = checked(exported({quiet(), quiet()}), quiet());
  EXPECT_EQ(result.verdict, Verdict::kSame) << to_text(result);
  EXPECT_EQ(result.tensors.same, result.expected);
  EXPECT_EQ(exit_status(result.verdict), 0);
}

TEST(GoldenCheck, ABitIsFoundWhereItStarts) {
  const Result result = checked(exported({quiet(), quiet()}), with(quiet(), "fc1", 1, one_bit));
  ASSERT_EQ(result.verdict, Verdict::kDifferent) << to_text(result);
  const auto& first = result.different.front();
  EXPECT_EQ(first.finding.what.site, "fc1");
  EXPECT_EQ(first.finding.what.step, 1);
  EXPECT_EQ(first.finding.rule, "bits");
  EXPECT_THAT(first.finding.ranks, ElementsAre(1));
  EXPECT_THAT(first.inputs, HasSubstr("it started here"));
  EXPECT_EQ(exit_status(result.verdict), 1);
}

// What follows from it is counted, and not accused.
TEST(GoldenCheck, TheEarlierOfTwoLeads) {
  SmallModel model = quiet();
  model.edit = [](const Tap& tap, Values& values) {
    if (tap.role == "output" && tap.rank == 0 && (tap.site == "norm" || tap.site == "stream"))
      one_bit(tap, values);
  };
  const Result result = checked(exported({quiet(), quiet()}), model);
  ASSERT_EQ(result.verdict, Verdict::kDifferent) << to_text(result);
  EXPECT_EQ(result.different.front().finding.what.site, "norm");
  EXPECT_EQ(result.different.front().finding.what.step, 0);
  for (const auto& each : result.different) EXPECT_EQ(each.finding.what.site, "norm");
  EXPECT_GT(result.passed_on, 0);
}

TEST(GoldenCheck, OneRunShowsNothing) {
  const Golden golden = exported({quiet()});
  EXPECT_EQ(checked(golden, quiet()).verdict, Verdict::kSame);
  const Result result = checked(golden, with(quiet(), "fc1", 1, one_bit));
  EXPECT_EQ(result.verdict, Verdict::kUnknown) << to_text(result);
  ASSERT_TRUE(result.first_unjudged);
  EXPECT_EQ(result.first_unjudged->finding.what.site, "fc1");
  EXPECT_EQ(exit_status(result.verdict), 125);
}

TEST(GoldenCheck, OneRunIsEnoughByTheUsersWord) {
  const Golden golden = exported({quiet()}, {.deterministic = true});
  EXPECT_EQ(checked(golden, with(quiet(), "fc1", 1, one_bit)).verdict, Verdict::kDifferent);
}

TEST(GoldenNoise, TwoRunsThatDifferShowNoSpread) {
  const Golden golden = of_noisy_runs(2);
  EXPECT_GT(count(golden.tables.front(), Class::kUnjudged), 0);
  EXPECT_EQ(count(golden.tables.front(), Class::kNoise), 0);
  const Result result = checked(golden, noisy(9));
  EXPECT_EQ(result.verdict, Verdict::kUnknown) << to_text(result);
  EXPECT_GT(result.unjudged.at("two exporting runs differ"), 0);
}

TEST(GoldenNoise, FiftyHealthyRunsAreTheSame) {
  const Golden golden = of_noisy_runs(5);
  ASSERT_GT(count(golden.tables.front(), Class::kNoise), 0);
  ASSERT_GT(count(golden.tables.front(), Class::kBit), 0);
  int alarms = 0, undecided = 0;
  for (uint64_t seed = 100; seed < 150; ++seed) {
    const Result result = checked(golden, noisy(seed));
    alarms += result.verdict == Verdict::kDifferent;
    undecided += result.verdict == Verdict::kUnknown;
  }
  EXPECT_EQ(alarms, 0);
  EXPECT_EQ(undecided, 0);
}

TEST(GoldenNoise, APercentIsFoundWhereItStarts) {
  const Result result = checked(of_noisy_runs(5), with(noisy(9), "fc1", 1, scaled));
  ASSERT_EQ(result.verdict, Verdict::kDifferent) << to_text(result);
  const auto& first = result.different.front();
  EXPECT_EQ(first.finding.what.site, "fc1");
  EXPECT_THAT(first.finding.ranks, ElementsAre(1));
  EXPECT_EQ(first.finding.rule, "noise");
  EXPECT_GT(first.finding.measured, first.finding.allowed);
  EXPECT_NEAR(first.finding.measured, 0.01, 2e-3);
}

// Copies of a noisy tensor are equal in every healthy run, however noisy it is.
TEST(GoldenNoise, CopiesStayCopies) {
  const Golden golden = of_noisy_runs(5);
  const Result result = checked(golden, with(noisy(9), "norm", 1, one_bit));
  ASSERT_EQ(result.verdict, Verdict::kDifferent) << to_text(result);
  EXPECT_EQ(result.different.front().finding.rule, "copies");
  EXPECT_EQ(result.different.front().finding.what.site, "norm");
}

// A parameter has no noise and comes before all that has.
TEST(GoldenNoise, WhatIsBeforeTheNoiseIsJudgedByBits) {
  SmallModel model = noisy(9);
  model.edit = [](const Tap& tap, Values& values) {
    if (tap.site == "fc1.weight" && tap.step == 0 && tap.rank == 0) one_bit(tap, values);
  };
  const Result result = checked(of_noisy_runs(5), model);
  ASSERT_EQ(result.verdict, Verdict::kDifferent) << to_text(result);
  EXPECT_EQ(result.different.front().finding.rule, "bits");
  EXPECT_EQ(result.different.front().finding.what.site, "fc1.weight");
}

TEST(GoldenNonFinite, IsDifferentWhateverElseChanged) {
  for (const bool changed : {false, true}) {
    const Result result = checked(of_noisy_runs(5), with(noisy(9), "fc1", 0, nan),
                                  changed ? std::map<std::string, std::string>{{"isa", "other"}}
                                          : std::map<std::string, std::string>{});
    ASSERT_EQ(result.verdict, Verdict::kDifferent) << to_text(result);
    EXPECT_EQ(result.different.front().finding.rule, "non_finite");
    EXPECT_THAT(result.different.front().finding.ranks, ElementsAre(0));
  }
}

TEST(GoldenConfiguration, AChangedLibraryExcusesBits) {
  const Golden golden = exported({quiet(), quiet()});
  const SmallModel off = with(quiet(), "fc1", 1, one_bit);
  const Result result = checked(golden, off, {{"torch.version", "9.9"}});
  EXPECT_EQ(result.verdict, Verdict::kUnknown) << to_text(result);
  ASSERT_EQ(result.differences.size(), 1u);
  EXPECT_EQ(result.differences.front().key, "torch.version");
  EXPECT_THAT(result.excuse, HasSubstr("torch.version"));
  // A fact that decides nothing does not.
  EXPECT_EQ(checked(golden, off, {{"launcher", "torchrun"}}).verdict, Verdict::kDifferent);
}

TEST(GoldenConfiguration, AChangedLibraryDoesNotExcuseValuesBeyondNoise) {
  const Golden golden = of_noisy_runs(5);
  const Result result =
      checked(golden, with(noisy(9), "fc1", 1, scaled), {{"torch.version", "9.9"}});
  ASSERT_EQ(result.verdict, Verdict::kDifferent) << to_text(result);
  EXPECT_EQ(result.different.front().finding.what.site, "fc1");
  EXPECT_EQ(checked(golden, noisy(9), {{"torch.version", "9.9"}}).verdict, Verdict::kSame);
}

TEST(GoldenLayout, AnotherOneIsNeverAccusedByBits) {
  const Golden golden = exported({quiet(), quiet()});
  SmallModel other = quiet();
  other.tp = 1;
  const Result same = checked(golden, other);
  EXPECT_FALSE(same.layout_exported);
  EXPECT_EQ(same.tensors.different, 0) << to_text(same);
  other.edit = [](const Tap& tap, Values& values) {
    if (tap.site == "fc1" && tap.role == "output") scaled(tap, values);
  };
  const Result off = checked(golden, other);
  EXPECT_EQ(off.verdict, Verdict::kUnknown) << to_text(off);
  EXPECT_GT(off.tensors.unjudged, 0);
}

TEST(GoldenLayout, ThreeLayoutsShowASpread) {
  std::vector<SmallModel> models;
  for (const int tp : {1, 2, 4}) {
    for (uint64_t seed = 1; seed < 4; ++seed) {
      models.push_back(noisy(seed + static_cast<uint64_t>(tp) * 100));
      models.back().tp = tp;
    }
  }
  const Golden golden = exported(models);
  EXPECT_EQ(golden.tables.size(), 3u);
  SmallModel other = noisy(77);
  other.tp = 8;
  const Result within = checked(golden, other);
  EXPECT_EQ(within.tensors.different, 0) << to_text(within);
  EXPECT_GT(within.tensors.within, 0);
  other.edit = [](const Tap& tap, Values& values) {
    if (tap.site == "fc1" && tap.role == "output") scaled(tap, values);
  };
  const Result off = checked(golden, other);
  ASSERT_EQ(off.verdict, Verdict::kDifferent) << to_text(off);
  EXPECT_EQ(off.different.front().finding.what.site, "fc1");
}

TEST(GoldenCoverage, MissingAndAdditionalAreNamed) {
  SmallModel fewer = quiet(), more = quiet();
  fewer.steps = 1;
  more.steps = 3;
  const Golden golden = exported({quiet(), quiet()});
  const Result lost = checked(golden, fewer);
  EXPECT_EQ(lost.verdict, Verdict::kUnknown) << to_text(lost);
  EXPECT_TRUE(lost.missing.contains("step 1, the whole of it"));
  const Result longer = checked(golden, more);
  EXPECT_EQ(longer.verdict, Verdict::kSame) << to_text(longer);
  EXPECT_TRUE(longer.extra.contains("step 2"));
  EXPECT_THAT(checked(golden, quiet()).missing, IsEmpty());
}

}  // namespace
}  // namespace nanhunt::golden
