// SPDX-License-Identifier: Apache-2.0
#include "golden/spread.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace nanhunt::golden {
namespace {

// Vectors that sit far from 0 beside their noise, which has `nu` independent components.
trace::Sketch drawn(int nu, double noise, std::mt19937_64& random) {
  std::normal_distribution<double> normal(0, noise);
  trace::Sketch sketch;
  sketch.fill(1e3);
  for (int i = 0; i < nu; ++i) sketch[static_cast<size_t>(i)] += normal(random);
  return sketch;
}

std::vector<trace::Sketch> runs_of(int runs, int nu, double noise, std::mt19937_64& random) {
  std::vector<trace::Sketch> drawn_runs;
  for (int i = 0; i < runs; ++i) drawn_runs.push_back(drawn(nu, noise, random));
  return drawn_runs;
}

TEST(Contrasts, AddUpToTheSquaresAroundTheMean) {
  std::mt19937_64 random(3);
  const auto runs = runs_of(6, 64, 1e-3, random);
  const auto mean = mean_of(runs);
  double around = 0, contrasts = 0;
  for (const auto& run : runs) around += std::pow(distance(run, mean), 2);
  for (const double square : contrast_squares(runs)) contrasts += square;
  EXPECT_EQ(contrast_squares(runs).size(), 5u);
  EXPECT_NEAR(contrasts / around, 1, 1e-9);
}

TEST(Contrasts, OfTwoNumbersAreHalfTheirDistanceSquared) {
  EXPECT_EQ(contrast_squares(std::vector<double>{3, 7}), std::vector<double>{8});
  EXPECT_EQ(contrast_squares(std::vector<double>{3, 3, 3}), (std::vector<double>{0, 0}));
}

// Relative variance of the squares of nu components: 2 / nu, though only two contrasts of a site
// are there to tell it, from many sites.
double estimated(int runs, int nu) {
  std::mt19937_64 random(7);
  ShapeSum sum;
  for (int site = 0; site < 4000; ++site) sum.add(contrast_squares(runs_of(runs, nu, 1, random)));
  return sum.shape().relative_variance;
}

TEST(Shapes, AreNotTooSharpForBeingDividedByTheirOwnMean) {
  EXPECT_NEAR(estimated(3, 4), 0.5, 0.05);
  EXPECT_NEAR(estimated(5, 4), 0.5, 0.05);
  EXPECT_NEAR(estimated(3, 20), 0.1, 0.02);
}

TEST(Shapes, OfOneComponentAreTheLongest) {
  EXPECT_GT(estimated(5, 1), 1.7);
}

struct Trial {
  int runs, nu, sites;
  double factor = 1;  // of the further run's noise
};

// Share of further runs that any of the sites (one kind) calls off, at a family rate of 0.05.
double alarms(const Trial& trial) {
  auto thresholds = oracle::Thresholds::installed();
  thresholds.override_with("family_rate", 0.05);
  thresholds.override_with("envelope_model_factor", 1);
  std::mt19937_64 random(11);
  constexpr int kTrials = 600;
  int off = 0;
  for (int t = 0; t < kTrials; ++t) {
    std::vector<std::vector<trace::Sketch>> sites;
    ShapeSum sum;
    for (int s = 0; s < trial.sites; ++s) {
      sites.push_back(runs_of(trial.runs, trial.nu, 1, random));
      sum.add(contrast_squares(sites.back()));
    }
    bool any = false;
    for (const auto& runs : sites) {
      const auto next = drawn(trial.nu, trial.factor, random);
      const double high =
          bound(spread_of(contrast_squares(runs)), sum.shape(), trial.sites, thresholds);
      any = any || distance(next, mean_of(runs)) > high;
    }
    off += any;
  }
  return static_cast<double>(off) / kTrials;
}

TEST(Bound, HealthyRunsAreCalledOffAtTheStatedRate) {
  EXPECT_LE(alarms({3, 8, 12}), 0.07);
  EXPECT_LE(alarms({5, 8, 12}), 0.07);
  EXPECT_LE(alarms({5, 1, 12}), 0.07);
  EXPECT_LE(alarms({5, 40, 12}), 0.07);
}

TEST(Bound, ThreeTimesTheNoiseIsSeen) {
  EXPECT_GE(alarms({5, 8, 12, 3}), 0.9);
  EXPECT_GE(alarms({5, 40, 12, 3}), 0.99);
}

}  // namespace
}  // namespace nanhunt::golden
