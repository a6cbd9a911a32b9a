// SPDX-License-Identifier: Apache-2.0
#include "repro/power.h"

#include <gtest/gtest.h>

#include <boost/math/distributions/binomial.hpp>
#include <boost/random/mersenne_twister.hpp>
#include <boost/random/normal_distribution.hpp>
#include <cmath>
#include <limits>

#include "repro/equivalence.h"

namespace nanhunt::repro {
namespace {

double normal_density(double x) {
  return std::exp(-x * x / 2) / std::sqrt(2 * std::acos(-1.0));
}
double normal_below(double x) {
  return std::erfc(-x / std::sqrt(2.0)) / 2;
}

// Two pairs by another road: mean sqrt(2) and s are |X| and |Y| of two independent normals, and the
// interval is inside where |X| + t |Y| < margin sqrt(2): a rhombus. Simpson's rule.
double power_of_two_pairs(double margin) {
  const double t = std::tan(std::acos(-1.0) * 0.45), c = margin * std::sqrt(2.0);
  constexpr int kCells = 20000;
  double sum = 0;
  for (int i = 0; i <= kCells; ++i) {
    const double x = c * i / kCells;
    const double weight = i == 0 || i == kCells ? 1 : (i % 2 == 1 ? 4 : 2);
    sum += weight * normal_density(x) * (normal_below((c - x) / t) - 0.5);
  }
  return 4 * sum * c / kCells / 3;
}

TEST(Power, OfTwoPairsIsTheRhombus) {
  for (const double margin : {0.1, 1.0, 2.0, 5.0, 20.0}) {
    EXPECT_NEAR(power({2, margin}), power_of_two_pairs(margin), 1e-9) << margin;
  }
}

TEST(Power, TableOfDesign) {
  struct Row {
    double margin;
    int seeds;
    double power;
  };
  for (const Row& row :
       {Row{2, 3, 0.56}, Row{2, 5, 0.95}, Row{1.5, 5, 0.74}, Row{1.5, 8, 0.97}, Row{1, 8, 0.64}}) {
    EXPECT_NEAR(power({row.seeds, row.margin}), row.power, 0.005) << row.margin;
  }
}

// On the margin the power is the size of the test: at most alpha, and near it.
TEST(Power, OnTheMarginIsTheLevel) {
  for (const int seeds : {3, 5, 10}) {
    const double size = power({seeds, 2, 0.05, 2});
    EXPECT_LE(size, 0.05 + 1e-9);
    EXPECT_GT(size, 0.0499);
    EXPECT_NEAR(power({seeds, 2, 0.05, -2}), size, 1e-9);
    EXPECT_LT(power({seeds, 2, 0.05, 3}), 0.01);
  }
  EXPECT_GT(power({5, 2, 0.05, 1}), 0.05) << "inside the margin";
}

TEST(Power, GrowsWithSeedsAndMargin) {
  for (int seeds = 2; seeds < 30; ++seeds) {
    EXPECT_LT(power({seeds, 0.7}), power({seeds + 1, 0.7}));
    EXPECT_LT(power({seeds, 0.7}), power({seeds, 0.8}));
  }
  EXPECT_EQ(power({2, std::numeric_limits<double>::infinity()}), 1);
}

// What the test says of simulated pairs, beside the printed power: the 99.9 % interval of the rate
// holds the power, and not that of one pair more.
TEST(Power, IsTheRateInASimulation) {
  constexpr int kRuns = 20000, kSeeds = 5;
  constexpr double kMargin = 1.5;
  boost::random::mt19937_64 random(11);
  boost::random::normal_distribution<double> normal;
  int equivalent = 0;
  for (int run = 0; run < kRuns; ++run) {
    std::vector<Pair> pairs;
    for (int seed = 0; seed < kSeeds; ++seed) pairs.push_back({3, 3 + normal(random)});
    equivalent += test_equivalence(pairs, kMargin, 0.05).decision == Decision::kEquivalent;
  }
  using Binomial = boost::math::binomial_distribution<>;
  const double low = Binomial::find_lower_bound_on_p(kRuns, equivalent, 0.0005);
  const double high = Binomial::find_upper_bound_on_p(kRuns, equivalent, 0.0005);
  EXPECT_LT(low, power({kSeeds, kMargin}));
  EXPECT_GT(high, power({kSeeds, kMargin}));
  EXPECT_LT(high, power({kSeeds + 1, kMargin}));
}

TEST(SeedsNeeded, IsTheFewest) {
  for (const double margin : {0.05, 0.5, 1.0, 1.5, 2.0, 3.0}) {
    const auto seeds = seeds_needed(margin, 0.05);
    ASSERT_TRUE(seeds.has_value());
    EXPECT_GE(power({*seeds, margin}), 0.8);
    EXPECT_LT(power({*seeds - 1, margin}), 0.8);
  }
  EXPECT_EQ(seeds_needed(100, 0.05), 2);
  EXPECT_EQ(seeds_needed(1e-6, 0.05), std::nullopt);
}

}  // namespace
}  // namespace nanhunt::repro
