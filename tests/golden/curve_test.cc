// SPDX-License-Identifier: Apache-2.0
// Losses: of runs that record one loss a step.
#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <limits>

#include "golden/check.h"
#include "golden/export.h"
#include "tests/compare/trace_builder.h"

namespace nanhunt::golden {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

compare::test::TraceBuilder curve(const std::vector<double>& losses) {
  compare::test::TraceBuilder builder;
  for (size_t step = 0; step < losses.size(); ++step) {
    builder.begin_step(static_cast<int64_t>(step));
    builder.scalar({0, "loss", trace::Phase::kLoss, "loss"}, losses[step]);
  }
  return builder;
}

Golden exported(const std::vector<std::vector<double>>& curves) {
  std::deque<compare::test::TraceBuilder> builders;
  std::vector<compare::TraceSource> sources;
  for (const auto& each : curves) builders.push_back(curve(each));
  for (const auto& builder : builders) sources.push_back(builder.source());
  return export_runs(sources, compare::test::thresholds(), {});
}

Result checked(const Golden& golden, const std::vector<double>& losses) {
  const auto builder = curve(losses);
  return check_run(golden, builder.source(), compare::test::thresholds());
}

TEST(GoldenCurve, BitsAreHeldStepByStep) {
  const Golden golden = exported({{4, 3, 2}, {4, 3, 2}});
  EXPECT_EQ(checked(golden, {4, 3, 2}).verdict, Verdict::kSame);
  const Result off = checked(golden, {4, 3.25, 2});
  EXPECT_EQ(off.verdict, Verdict::kDifferent) << to_text(off);
  ASSERT_EQ(off.curve.size(), 3u);
  EXPECT_EQ(off.curve[1].standing, Standing::kDifferent);
  EXPECT_EQ(off.losses.different, 1);
}

TEST(GoldenCurve, NanEqualsNanAndNothingElse) {
  const Golden golden = exported({{4, kNan, 2}, {4, kNan, 2}});
  EXPECT_EQ(checked(golden, {4, kNan, 2}).verdict, Verdict::kSame);
  EXPECT_EQ(checked(golden, {4, 3, 2}).verdict, Verdict::kDifferent);
  EXPECT_EQ(checked(golden, {kNan, kNan, 2}).verdict, Verdict::kDifferent);
}

TEST(GoldenCurve, NoiseMakesAnInterval) {
  const Golden golden = exported({{4.0001}, {4.0002}, {3.9999}, {4.0000}, {4.0001}});
  const Result within = checked(golden, {4.00025});
  EXPECT_EQ(within.verdict, Verdict::kSame) << to_text(within);
  EXPECT_LT(within.curve.front().low, 3.9999);
  EXPECT_GT(within.curve.front().high, 4.0002);
  EXPECT_EQ(checked(golden, {4.04}).verdict, Verdict::kDifferent);
  EXPECT_EQ(checked(golden, {kNan}).verdict, Verdict::kDifferent);
}

TEST(GoldenCurve, NanInSomeRunsIsNotJudged) {
  const Golden golden = exported({{4.1}, {kNan}, {4.2}});
  const Result result = checked(golden, {4.3});
  EXPECT_EQ(result.verdict, Verdict::kUnknown) << to_text(result);
  EXPECT_EQ(result.curve.front().standing, Standing::kUnjudged);
}

}  // namespace
}  // namespace nanhunt::golden
