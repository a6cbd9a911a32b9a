// SPDX-License-Identifier: Apache-2.0
#include "repro/equivalence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "trace/error.h"

namespace nanhunt::repro {
namespace {

using testing::HasSubstr;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kAlpha = 0.05;

std::vector<Pair> with_differences(const std::vector<double>& differences) {
  std::vector<Pair> pairs;
  for (const double difference : differences) pairs.push_back({0, difference});
  return pairs;
}

Decision decision_of(const std::vector<double>& differences, double margin) {
  return test_equivalence(with_differences(differences), margin, kAlpha).decision;
}

// t with 1 and 2 degrees of freedom has closed forms; none of them is what the library computes.
double quantile_of_1(double p) {
  return std::tan(std::acos(-1.0) * (p - 0.5));
}
double quantile_of_2(double p) {
  return (2 * p - 1) / std::sqrt(2 * p * (1 - p));
}
double upper_tail_of_2(double t) {
  return 0.5 - t / (2 * std::sqrt(2 + t * t));
}

TEST(Equivalence, IntervalOfTwoPairs) {
  // d = 1, 3: mean 2, sd sqrt(2), standard error 1.
  const Equivalence result = test_equivalence(with_differences({1, 3}), 10, kAlpha);
  EXPECT_DOUBLE_EQ(result.mean, 2);
  EXPECT_DOUBLE_EQ(result.sd, std::sqrt(2.0));
  EXPECT_NEAR(result.low, 2 - quantile_of_1(0.95), 1e-10);
  EXPECT_NEAR(result.high, 2 + quantile_of_1(0.95), 1e-10);
  EXPECT_EQ(result.decision, Decision::kEquivalent);
}

TEST(Equivalence, IntervalAndTailsOfThreePairs) {
  // d = -1, 0, 4: mean 1, sd sqrt(7), standard error sqrt(7/3).
  const double error = std::sqrt(7.0 / 3), margin = 6;
  const Equivalence result = test_equivalence(with_differences({-1, 0, 4}), margin, kAlpha);
  EXPECT_NEAR(result.low, 1 - quantile_of_2(0.95) * error, 1e-10);
  EXPECT_NEAR(result.high, 1 + quantile_of_2(0.95) * error, 1e-10);
  // The test nearer to its bound decides: (margin - mean) / error.
  EXPECT_NEAR(result.p, upper_tail_of_2(5 / error), 1e-12);
  const Equivalence other = test_equivalence(with_differences({1, 0, -4}), margin, kAlpha);
  EXPECT_NEAR(other.p, result.p, 1e-15);
}

TEST(Equivalence, PAndIntervalDecideAlike) {
  for (double margin = 0.5; margin < 12; margin += 0.25) {
    const Equivalence result = test_equivalence(with_differences({-1, 0, 4}), margin, kAlpha);
    EXPECT_EQ(result.decision == Decision::kEquivalent, result.p < kAlpha) << margin;
  }
}

// SAS/STAT User's Guide, the TTEST procedure, "Equivalence Testing with Lognormal Data" (a part of
// Wellek 2003, p. 212): geometric mean ratio 0.9412, 90 % limits 0.8634 and 1.0260, margins 0.8 and
// 1.25, equivalent.
TEST(Equivalence, PublishedExample) {
  const std::vector<Pair> areas = {{90.11, 103.4}, {77.71, 59.92}, {77.71, 68.17}, {97.51, 94.54},
                                   {58.21, 69.48}, {101.3, 72.17}, {79.84, 74.37}, {96.06, 84.44},
                                   {89.30, 96.74}, {97.22, 94.26}, {61.62, 48.52}, {85.80, 95.68}};
  std::vector<Pair> logarithms;
  for (const Pair& pair : areas) logarithms.push_back({std::log(pair.a), std::log(pair.b)});
  const Equivalence result = test_equivalence(logarithms, std::log(1.25), kAlpha);
  EXPECT_NEAR(std::exp(result.mean), 0.9412, 5e-5);
  EXPECT_NEAR(std::exp(result.low), 0.8634, 5e-5);
  EXPECT_NEAR(std::exp(result.high), 1.0260, 5e-5);
  EXPECT_EQ(result.decision, Decision::kEquivalent);
  // The margin that the published lower limit does not keep.
  EXPECT_EQ(test_equivalence(logarithms, std::log(1 / 0.87), kAlpha).decision, Decision::kUnknown);
}

TEST(Equivalence, DecisionTable) {
  // d = c - 1, c, c + 1: half width of the interval 2.92 / sqrt(3) = 1.686.
  struct Row {
    double centre, margin;
    Decision decision;
  };
  for (const Row& row : {Row{0, 1.7, Decision::kEquivalent}, Row{0, 1.6, Decision::kUnknown},
                         Row{1, 2.7, Decision::kEquivalent}, Row{1, 2.6, Decision::kUnknown},
                         Row{3, 1.2, Decision::kDifferent}, Row{3, 1.4, Decision::kUnknown},
                         Row{-3, 1.2, Decision::kDifferent}, Row{-1, 2.7, Decision::kEquivalent},
                         Row{-1, 2.6, Decision::kUnknown}, Row{-3, 1.4, Decision::kUnknown}}) {
    EXPECT_EQ(decision_of({row.centre - 1, row.centre, row.centre + 1}, row.margin), row.decision)
        << row.centre << " against " << row.margin;
  }
}

TEST(Equivalence, PairsNotSidesAreCompared) {
  // Seeds differ by far more than the margin; their differences do not.
  const std::vector<Pair> pairs = {{1, 1.01}, {5, 4.99}, {9, 9.01}, {2, 1.99}};
  EXPECT_EQ(test_equivalence(pairs, 0.1, kAlpha).decision, Decision::kEquivalent);
  const std::vector<Pair> shuffled = {{1, 4.99}, {5, 9.01}, {9, 1.99}, {2, 1.01}};
  EXPECT_EQ(test_equivalence(shuffled, 0.1, kAlpha).decision, Decision::kUnknown);
}

TEST(Equivalence, EqualRunsGiveTheIntervalZero) {
  const Equivalence result = test_equivalence({{2, 2}, {3, 3}}, 1e-300, kAlpha);
  EXPECT_EQ(result.low, 0);
  EXPECT_EQ(result.high, 0);
  EXPECT_EQ(result.p, 0);
  EXPECT_EQ(result.decision, Decision::kEquivalent);
}

TEST(Equivalence, EqualDifferencesAreNoInterval) {
  EXPECT_EQ(decision_of({0.1, 0.1, 0.1}, 0.2), Decision::kEquivalent);
  EXPECT_EQ(decision_of({0.1, 0.1, 0.1}, 0.1), Decision::kUnknown) << "on the margin itself";
  EXPECT_EQ(decision_of({0.1, 0.1, 0.1}, 0.05), Decision::kDifferent);
}

TEST(Equivalence, OnePairSaysNothing) {
  for (const auto& differences : {std::vector<double>{}, std::vector<double>{0}}) {
    const Equivalence result = test_equivalence(with_differences(differences), 1, kAlpha);
    EXPECT_EQ(result.decision, Decision::kUnknown);
    EXPECT_THAT(result.reason, HasSubstr("at least 2 are needed"));
    EXPECT_TRUE(std::isnan(result.mean));
  }
  EXPECT_EQ(decision_of({0, 0}, 1), Decision::kEquivalent);
}

TEST(Equivalence, NanOnOneSideIsDifferentWhateverTheOthersSay) {
  for (const double lost : {kNan, kInf, -kInf}) {
    for (const Pair& pair : {Pair{lost, 0}, Pair{0, lost}}) {
      std::vector<Pair> pairs = with_differences({0, 0.01, -0.01, 0});
      EXPECT_EQ(test_equivalence(pairs, 1, kAlpha).decision, Decision::kEquivalent);
      pairs.push_back(pair);
      const Equivalence result = test_equivalence(pairs, 1, kAlpha);
      EXPECT_EQ(result.decision, Decision::kDifferent);
      EXPECT_THAT(result.reason, HasSubstr("pair 5 went to NaN or Inf on one side only"));
      EXPECT_EQ(result.differences.size(), 4u);
      EXPECT_TRUE(std::isfinite(result.mean));
    }
  }
  EXPECT_EQ(test_equivalence({{0, kNan}}, 1, kAlpha).decision, Decision::kDifferent);
}

TEST(Equivalence, NanOnBothSidesCannotTell) {
  std::vector<Pair> pairs = with_differences({0, 0.01, -0.01, 0});
  pairs.push_back({kNan, kInf});
  const Equivalence result = test_equivalence(pairs, 1, kAlpha);
  EXPECT_EQ(result.decision, Decision::kUnknown);
  EXPECT_THAT(result.reason, HasSubstr("without pair 5: NaN or Inf on both sides"));
  EXPECT_THAT(result.both_sides, testing::ElementsAre(4));
  // It takes no difference away that the others show.
  std::vector<Pair> apart = with_differences({5, 5.01, 4.99, 5});
  apart.push_back({kNan, kNan});
  EXPECT_EQ(test_equivalence(apart, 1, kAlpha).decision, Decision::kDifferent);
}

TEST(Equivalence, HugeAndTinyDifferencesStayInRange) {
  EXPECT_EQ(decision_of({1e300, 1.1e300, 0.9e300}, 1e301), Decision::kEquivalent);
  EXPECT_EQ(decision_of({1e300, 1.1e300, 0.9e300}, 1e299), Decision::kDifferent);
  EXPECT_EQ(decision_of({1e-310, -1e-310, 1e-310}, 1e-308), Decision::kEquivalent);
  EXPECT_EQ(decision_of({1e-310, -1e-310, 1e-310}, 1e-310), Decision::kUnknown);
  const double most = std::numeric_limits<double>::max();
  EXPECT_EQ(test_equivalence({{-most, most}, {0, 0}, {0, 0}}, 1, kAlpha).decision,
            Decision::kUnknown);
}

TEST(Equivalence, MarginsAndLevelsThatAreNoneAreRefused) {
  const auto pairs = with_differences({0, 0});
  for (const double margin : {0.0, -0.0, -1.0, kNan, kInf}) {
    try {
      test_equivalence(pairs, margin, kAlpha);
      FAIL() << margin;
    } catch (const trace::Error& error) {
      EXPECT_EQ(error.kind(), trace::ErrorKind::kUsage);
      EXPECT_THAT(error.what(), HasSubstr("must be a finite number above 0"));
    }
  }
  for (const double alpha : {0.0, 0.5, -0.1, kNan}) {
    EXPECT_THROW(test_equivalence(pairs, 1, alpha), trace::Error) << alpha;
  }
  EXPECT_NO_THROW(test_equivalence(pairs, 1e-300, 0.49));
}

TEST(Equivalence, ALowerLevelAsksForMore) {
  const auto pairs = with_differences({-1, 0, 1});
  EXPECT_EQ(test_equivalence(pairs, 2, 0.05).decision, Decision::kEquivalent);
  EXPECT_EQ(test_equivalence(pairs, 2, 0.01).decision, Decision::kUnknown);
}

TEST(Overall, AllMustBeEquivalentAndOneDifferenceIsEnough) {
  constexpr auto e = Decision::kEquivalent, d = Decision::kDifferent, u = Decision::kUnknown;
  EXPECT_EQ(overall({e, e, e}), e);
  EXPECT_EQ(overall({e, u, e}), u);
  EXPECT_EQ(overall({e, u, d}), d);
  EXPECT_EQ(overall({d, e}), d);
  EXPECT_EQ(overall({u}), u);
  EXPECT_EQ(overall({}), u);
}

}  // namespace
}  // namespace nanhunt::repro
