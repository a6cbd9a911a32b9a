// SPDX-License-Identifier: Apache-2.0
#include "repro/convergence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "repro/power.h"
#include "trace/error.h"

namespace nanhunt::repro {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr int kSteps = 20;

// A falling loss of 20 steps, each seed at its own height; `shift` added to the last 5 steps.
Curve curve(const std::string& name, int seed, double shift = 0) {
  Curve curve;
  curve.path = name + std::to_string(seed);
  for (int step = 0; step < kSteps; ++step) {
    curve.steps.push_back(step);
    curve.losses.push_back(3 + seed + 2.0 / (step + 1) + (step >= 15 ? shift : 0));
    curve.lines.push_back(step + 1);
  }
  return curve;
}

// Differences of the late loss (the last 4 steps) by seed.
std::vector<CurvePair> pairs_of(const std::vector<double>& shifts, const std::string& a = "a",
                                const std::string& b = "b") {
  std::vector<CurvePair> pairs;
  for (size_t i = 0; i < shifts.size(); ++i) {
    const int seed = static_cast<int>(i);
    pairs.push_back({curve(a, seed), curve(b, seed, shifts[i])});
  }
  return pairs;
}

Criteria criteria_of(const Margin& margin,
                     const std::vector<Metric>& metrics = {Metric::kEarly, Metric::kLate}) {
  Criteria criteria;
  for (const Metric metric : metrics) criteria.criteria.push_back({metric, margin});
  return criteria;
}

const std::vector<double> kSmall = {0.01, -0.01, 0.005, -0.005};

TEST(Convergence, AllMetricsMustBeEquivalent) {
  const auto decision = [](double margin) {
    return judge(criteria_of({margin}), pairs_of(kSmall), {}).decision;
  };
  EXPECT_EQ(decision(0.02), Decision::kEquivalent);
  EXPECT_EQ(decision(0.005), Decision::kUnknown);  // the late loss; the early one is equal
  const Convergence result = judge(criteria_of({0.005}), pairs_of(kSmall), {});
  EXPECT_EQ(result.metrics[0].test.decision, Decision::kEquivalent);
  EXPECT_EQ(result.metrics[1].test.decision, Decision::kUnknown);
  EXPECT_EQ(result.reason, "late_loss is unknown");
}

TEST(Convergence, ALateDifferenceIsFound) {
  const auto pairs = pairs_of({0.3, 0.31, 0.29, 0.3});
  const Convergence result = judge(criteria_of({0.05}), pairs, {});
  EXPECT_EQ(result.decision, Decision::kDifferent);
  EXPECT_EQ(result.reason, "late_loss is different");
  EXPECT_EQ(judge(criteria_of({0.05}, {Metric::kEarly}), pairs, {}).decision,
            Decision::kEquivalent);
}

TEST(Convergence, EqualRunsAreEquivalent) {
  const Convergence result = judge(criteria_of({1e-12}), pairs_of({0, 0, 0}), {});
  EXPECT_EQ(result.decision, Decision::kEquivalent);
  EXPECT_EQ(result.metrics[1].test.low, 0);
  EXPECT_EQ(result.metrics[1].test.high, 0);
}

TEST(Convergence, NanOnOneSideIsDifferentThoughNoMetricCoversIt) {
  auto pairs = pairs_of(kSmall);
  pairs[2].b.losses[10] = kNan;  // between the early and the late part
  const Convergence result = judge(criteria_of({0.02}), pairs, {});
  EXPECT_EQ(result.metrics[0].test.decision, Decision::kEquivalent);
  EXPECT_EQ(result.metrics[1].test.decision, Decision::kEquivalent);
  EXPECT_EQ(result.decision, Decision::kDifferent);
  EXPECT_EQ(result.reason, "NaN or Inf on one side only");
  EXPECT_THAT(to_text(result),
              HasSubstr("pair 3 (a2, b2) went to NaN or Inf on side B only, at step 10"));
  pairs[2].b.losses[10] = 3;
  EXPECT_EQ(judge(criteria_of({0.02}), pairs, {}).decision, Decision::kEquivalent);
}

TEST(Convergence, NanOnBothSidesCannotTellWhoWasFirst) {
  auto pairs = pairs_of(kSmall);
  pairs[1].a.losses[10] = pairs[1].b.losses[3] = kNan;  // B within the early part, A after it
  const Convergence result = judge(criteria_of({0.02}), pairs, {});
  EXPECT_EQ(result.decision, Decision::kUnknown);
  EXPECT_THAT(to_text(result), HasSubstr("on both sides: A at step 10, B at step 3"));
  pairs[1].a.losses[10] = 3;
  EXPECT_EQ(judge(criteria_of({0.02}), pairs, {}).decision, Decision::kDifferent);
}

TEST(Convergence, MarginByDeviationOfSeparatePairs) {
  const auto same = pairs_of({0.01, -0.01, 0.02, -0.02}, "r", "s");
  const double sd = std::sqrt(0.001 / 3);
  const Convergence result = judge(criteria_of({2, true}, {Metric::kLate}), pairs_of(kSmall), same);
  EXPECT_NEAR(result.metrics[0].margin, 2 * sd, 1e-12);
  EXPECT_EQ(result.decision, Decision::kEquivalent);
  ASSERT_TRUE(result.metrics[0].spread.has_value());
  EXPECT_EQ(result.metrics[0].spread->pairs, 4);
  // Chi-square with 3 degrees of freedom: 0.2158 and 9.3484 at 2.5 % and 97.5 %.
  EXPECT_NEAR(result.metrics[0].spread->low, sd * std::sqrt(3 / 9.3484), 1e-6);
  EXPECT_NEAR(result.metrics[0].spread->high, sd * std::sqrt(3 / 0.21580), 1e-4);
  EXPECT_NEAR(*result.metrics[0].power, power({4, 2}), 1e-6);
  EXPECT_EQ(judge(criteria_of({0.1, true}, {Metric::kLate}), pairs_of(kSmall), same).decision,
            Decision::kUnknown);
}

// What a refusal says, with its kind.
std::string refusal(const Criteria& criteria, const std::vector<CurvePair>& pairs,
                    const std::vector<CurvePair>& same, trace::ErrorKind kind) {
  try {
    judge(criteria, pairs, same);
  } catch (const trace::Error& error) {
    EXPECT_EQ(error.kind(), kind);
    return error.what();
  }
  return "";
}

TEST(Convergence, ADeviationThatIsNoneIsRefused) {
  const auto criteria = criteria_of({2, true}, {Metric::kLate});
  const auto pairs = pairs_of(kSmall);
  constexpr auto kUsage = trace::ErrorKind::kUsage;
  EXPECT_EQ(refusal(criteria, pairs, pairs_of({0.01, 0}, "r", "s"), kUsage), "");
  EXPECT_THAT(refusal(criteria, pairs, {}, kUsage), HasSubstr("there are not two A/A pairs"));
  EXPECT_THAT(refusal(criteria, pairs, pairs_of({0.01}, "r", "s"), kUsage),
              HasSubstr("there are not two A/A pairs"));
  EXPECT_THAT(refusal(criteria, pairs, pairs_of({0, 0}, "r", "s"), kUsage),
              HasSubstr("the margin of late_loss, 2sd of the A/A pairs, is 0"));
  EXPECT_THAT(refusal(criteria, pairs, pairs_of({0.01, 0}, "a", "s"), kUsage),
              HasSubstr("a0 is in an A/A pair and in a pair to be judged"));
  auto lost = pairs_of({0.01, 0}, "r", "s");
  lost[0].b.losses[19] = kNan;
  EXPECT_THAT(refusal(criteria, pairs, lost, trace::ErrorKind::kUnreadable),
              HasSubstr("the A/A pair r0, s0 has no finite late_loss"));
}

TEST(Convergence, AllCurvesHaveTheSameSteps) {
  auto pairs = pairs_of(kSmall);
  for (Curve* one : {&pairs[3].a, &pairs[3].b}) {
    one->steps.pop_back();
    one->losses.pop_back();
    one->lines.pop_back();
  }
  EXPECT_THAT(refusal(criteria_of({0.02}), pairs, {}, trace::ErrorKind::kUnreadable),
              HasSubstr("a0:20: step 19 is missing in a3"));
}

TEST(Convergence, OneSeedGivenTwiceCountsOnce) {
  auto pairs = pairs_of({0.01, -0.01});
  pairs.push_back(pairs[0]);
  const Convergence result = judge(criteria_of({0.02}), pairs, {});
  EXPECT_EQ(result.pairs.size(), 2u);
  EXPECT_THAT(to_text(result), HasSubstr("holds the same values as the pair of a0"));
  pairs[2].b.losses[0] += 1e-9;
  EXPECT_EQ(judge(criteria_of({0.02}), pairs, {}).pairs.size(), 3u);
}

TEST(Convergence, OnePairIsUnknown) {
  EXPECT_EQ(judge(criteria_of({0.02}), pairs_of({0}), {}).decision, Decision::kUnknown);
  EXPECT_EQ(judge(criteria_of({0.02}), {}, {}).decision, Decision::kUnknown);
}

TEST(Convergence, PowerAndSeedsAreThoseOfTheMeasuredSpread) {
  const Convergence result = judge(criteria_of({0.02}), pairs_of(kSmall), {});
  const MetricResult& late = result.metrics[1];
  EXPECT_DOUBLE_EQ(late.margin_over_sd, 0.02 / late.test.sd);
  EXPECT_EQ(late.power, power({4, late.margin_over_sd}));
  EXPECT_EQ(late.seeds, seeds_needed(late.margin_over_sd, 0.05));
  EXPECT_THAT(to_text(result), HasSubstr("seeds needed for 0.8: " + std::to_string(*late.seeds)));
}

TEST(Convergence, TextAndJsonSayTheSame) {
  const Convergence result = judge(criteria_of({0.02}), pairs_of(kSmall), {});
  const json told = to_json(result);
  EXPECT_EQ(told["verdict"], "equivalent");
  EXPECT_EQ(told["exit_status"], 0);
  EXPECT_EQ(told["thresholds_sha256"], sha256(result.criteria));
  EXPECT_EQ(told["metrics"][1]["metric"], "late_loss");
  EXPECT_EQ(told["metrics"][1]["differences"].size(), 4u);
  EXPECT_THAT(to_text(result), HasSubstr("verdict:   equivalent: early_loss, late_loss are"));
  EXPECT_THAT(to_text(result), HasSubstr("thresholds " + sha256(result.criteria).substr(0, 16)));
  EXPECT_THAT(to_text(result), Not(HasSubstr("unknown")));
}

TEST(Convergence, JsonWritesNanAsText) {
  auto pairs = pairs_of(kSmall);
  pairs[0].b.losses[19] = kNan;
  const json told = to_json(judge(criteria_of({0.02}), pairs, {}));
  EXPECT_EQ(told["metrics"][1]["values"][0]["b"], "NaN");
  EXPECT_EQ(told["metrics"][1]["not_finite_on_one_side"], json::array({1}));
  EXPECT_EQ(told["exit_status"], 1);
  EXPECT_EQ(to_json(judge(criteria_of({0.02}), pairs_of({0}), {}))["metrics"][0]["low"], "-Inf");
}

TEST(Convergence, ExitStatuses) {
  EXPECT_EQ(exit_status(Decision::kEquivalent), 0);
  EXPECT_EQ(exit_status(Decision::kDifferent), 1);
  EXPECT_EQ(exit_status(Decision::kUnknown), 125);
}

}  // namespace
}  // namespace nanhunt::repro
