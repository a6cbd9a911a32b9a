// SPDX-License-Identifier: Apache-2.0
// What is left of long curves: every kind of step that stands out, and no more than was promised.
#include "repro/drawn_curves.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace nanhunt::repro {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

// A loss that falls by steps of two, A like B, at every tenth step.
CurvePair falling(int steps) {
  CurvePair pair;
  for (Curve* curve : {&pair.a, &pair.b}) {
    for (int i = 0; i < steps; ++i) {
      curve->steps.push_back(10 * i);
      curve->losses.push_back(1e6 - 2 * i);
    }
  }
  return pair;
}

DrawnPair drawn_of(const CurvePair& pair) {
  return drawn(pair.a, pair.b);
}

// The value of B that was kept of a step.
double kept_b(const DrawnPair& pair, int64_t step) {
  const auto at = std::ranges::find(pair.steps, step);
  return at == pair.steps.end() ? -1 : pair.b[static_cast<size_t>(at - pair.steps.begin())];
}

TEST(DrawnCurves, ShortOnesAreWhole) {
  const CurvePair pair = falling(static_cast<int>(kMostDrawnSteps));
  const DrawnPair kept = drawn_of(pair);
  EXPECT_EQ(kept.steps, pair.a.steps);
  EXPECT_EQ(kept.a, pair.a.losses);
  EXPECT_EQ(kept.b, pair.b.losses);
  EXPECT_LT(drawn_of(falling(static_cast<int>(kMostDrawnSteps) + 1)).steps.size(),
            kMostDrawnSteps + 1);
}

TEST(DrawnCurves, LongOnesKeepTheirEndsAndTheirOrder) {
  const DrawnPair kept = drawn_of(falling(100000));
  EXPECT_LE(kept.steps.size(), kMostDrawnSteps + 2);
  EXPECT_GT(kept.steps.size(), 300u) << "two extremes of each part";
  EXPECT_EQ(kept.steps.front(), 0);
  EXPECT_EQ(kept.steps.back(), 999990);
  EXPECT_TRUE(std::ranges::is_sorted(kept.steps));
  EXPECT_EQ(std::ranges::adjacent_find(kept.steps), kept.steps.end());
}

TEST(DrawnCurves, ASpikeOfOneStepIsKept) {
  CurvePair pair = falling(100000);
  const DrawnPair plain = drawn_of(pair);
  EXPECT_THAT(plain.steps, Not(Contains(345670)));
  pair.b.losses[34567] = 2e6;
  EXPECT_EQ(kept_b(drawn_of(pair), 345670), 2e6);
  pair.b.losses[34567] = -3;
  EXPECT_EQ(kept_b(drawn_of(pair), 345670), -3);
}

// Both curves are within their own range there, and only their difference stands out.
TEST(DrawnCurves, ADifferenceOfOneStepIsKept) {
  CurvePair pair = falling(100000);
  pair.b.losses[34567] += 50;
  EXPECT_EQ(kept_b(drawn_of(pair), 345670), pair.b.losses[34567]);
  pair.a.losses[34567] += 50;
  EXPECT_EQ(kept_b(drawn_of(pair), 345670), -1);
}

TEST(DrawnCurves, NanAndInfAreKept) {
  CurvePair pair = falling(100000);
  pair.b.losses[34567] = kNan;
  pair.a.losses[70001] = -kInf;
  const DrawnPair kept = drawn_of(pair);
  EXPECT_TRUE(std::isnan(kept_b(kept, 345670)));
  EXPECT_THAT(kept.steps, Contains(700010));
  EXPECT_LE(kept.steps.size(), kMostDrawnSteps + 2);
}

TEST(DrawnCurves, ALostRunKeepsWhereItWasLost) {
  CurvePair pair = falling(100000);
  for (size_t i = 34567; i < 100000; ++i) pair.b.losses[i] = kNan;
  const DrawnPair kept = drawn_of(pair);
  EXPECT_LE(kept.steps.size(), kMostDrawnSteps + 2);
  const auto first = std::ranges::find_if(kept.b, [](double loss) { return std::isnan(loss); });
  ASSERT_NE(first, kept.b.end());
  EXPECT_EQ(kept.steps[static_cast<size_t>(first - kept.b.begin())], 345670);
  EXPECT_TRUE(std::isnan(kept.b.back()));
}

TEST(DrawnCurves, AllNanIsDrawnToo) {
  CurvePair pair = falling(5000);
  pair.a.losses.assign(5000, kNan);
  pair.b.losses.assign(5000, kInf);
  const DrawnPair kept = drawn_of(pair);
  EXPECT_GT(kept.steps.size(), 100u);
  EXPECT_LE(kept.steps.size(), kMostDrawnSteps + 2);
}

TEST(DrawnCurves, TheMeanIsOfWholePairs) {
  std::vector<CurvePair> pairs = {falling(3), falling(3), falling(3)};
  pairs[0].b.losses = {1, 2, 3};
  pairs[1].b.losses = {3, 4, 9};
  pairs[2].b.losses = {100, 100, kNan};
  const DrawnCurves curves = drawn(pairs);
  ASSERT_EQ(curves.pairs.size(), 3u);
  EXPECT_EQ(curves.mean_of, 2);
  EXPECT_THAT(curves.mean.b, ElementsAre(2, 3, 6));
  EXPECT_THAT(curves.mean.steps, ElementsAre(0, 10, 20));
  pairs[2].b.losses[2] = 100;
  EXPECT_EQ(drawn(pairs).mean_of, 3);
  for (CurvePair& pair : pairs) pair.a.losses[0] = kNan;
  EXPECT_EQ(drawn(pairs).mean_of, 0);
  EXPECT_TRUE(drawn(pairs).mean.steps.empty());
  EXPECT_TRUE(drawn(std::vector<CurvePair>{}).pairs.empty());
}

TEST(DrawnCurves, TheMeanOfHugeLossesIsFinite) {
  std::vector<CurvePair> pairs = {falling(2), falling(2)};
  for (CurvePair& pair : pairs) pair.b.losses = {1.5e308, 1.5e308};
  EXPECT_THAT(drawn(pairs).mean.b, ElementsAre(1.5e308, 1.5e308));
}

TEST(DrawnCurves, AMetricNamesItsSteps) {
  const Curve curve = falling(10).a;
  const Fractions shares{0.2, 0.3};
  EXPECT_EQ(steps_of(curve, Metric::kEarly, shares)->last, 10);
  EXPECT_EQ(steps_of(curve, Metric::kLate, shares)->first, 70);
  EXPECT_EQ(steps_of(curve, Metric::kWhole, shares)->last, 90);
  EXPECT_FALSE(steps_of(curve, Metric::kQuality, shares));
  EXPECT_FALSE(steps_of(Curve{}, Metric::kWhole, shares));
}

}  // namespace
}  // namespace nanhunt::repro
