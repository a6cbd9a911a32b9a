// SPDX-License-Identifier: Apache-2.0
// How many runs decide an item; the errors are held against sums over all outcomes and draws.
#include "bisect/stopping_rule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "trace/error.h"

namespace nanhunt::bisect {
namespace {

FailureRates rates(double bad, double good, double error, int64_t max_runs = 0) {
  return {bad, good, error, max_runs};
}

TEST(StoppingRule, OneRunDecidesWhatAlwaysEndsInTheSameWay) {
  const StoppingRule rule = stopping_rule({});
  EXPECT_TRUE(rule.deterministic());
  EXPECT_EQ(rule.most_runs(), 1);
  EXPECT_EQ(decide(rule, 0, 0), Decision::kRunAgain);
  EXPECT_EQ(decide(rule, 1, 0), Decision::kGood);
  EXPECT_EQ(decide(rule, 0, 1), Decision::kBad);
}

// Published numbers of samples: 14 at rate 0.2 for 0.95, 29 at 0.1 for 0.95.
TEST(StoppingRule, TakesTheFewestPassesThatMeetTheError) {
  EXPECT_EQ(stopping_rule(rates(0.2, 0, 0.05)).most_runs(), 14);
  EXPECT_EQ(stopping_rule(rates(0.1, 0, 0.05)).most_runs(), 29);
  EXPECT_EQ(stopping_rule(rates(0.5, 0, 1e-5)).most_runs(), 17);
  EXPECT_EQ(stopping_rule(rates(0.5, 0, std::pow(2.0, -17))).most_runs(), 17);
  EXPECT_EQ(stopping_rule(rates(0.5, 0, std::pow(2.0, -17) * 0.999)).most_runs(), 18);
}

TEST(StoppingRule, OneFailureIsBadWhereGoodItemsNeverFail) {
  const StoppingRule rule = stopping_rule(rates(0.5, 0, 1e-2));
  EXPECT_EQ(rule.most_runs(), 7);
  EXPECT_EQ(decide(rule, 6, 0), Decision::kRunAgain);
  EXPECT_EQ(decide(rule, 7, 0), Decision::kGood);
  EXPECT_EQ(decide(rule, 6, 1), Decision::kBad);
  EXPECT_EQ(decide(rule, 0, 1), Decision::kBad);
  const Behaviour bad = behaviour(rule, 0.5);
  EXPECT_DOUBLE_EQ(bad.good, std::pow(0.5, 7));
  EXPECT_DOUBLE_EQ(bad.runs, 2 - std::pow(0.5, 6));  // sum of 2^-n for n from 0 to 6
  const Behaviour good = behaviour(rule, 0);
  EXPECT_EQ(good.bad, 0);
  EXPECT_EQ(good.runs, 7);
}

class BothRates : public testing::TestWithParam<FailureRates> {};

TEST_P(BothRates, KeepBothErrors) {
  const StoppingRule rule = stopping_rule(GetParam());
  const double bad_rate = GetParam().bad_at_least, good_rate = GetParam().good_at_most;
  for (const double rate : {good_rate, good_rate / 2, 0.0}) {
    const Behaviour good = behaviour(rule, rate);
    EXPECT_LE(good.bad, GetParam().error) << rate;
    EXPECT_NEAR(good.good + good.bad + good.undecided, 1, 1e-9);
  }
  for (const double rate : {bad_rate, (1 + bad_rate) / 2, 1.0}) {
    EXPECT_LE(behaviour(rule, rate).good, GetParam().error) << rate;
  }
  // Not by being undecided: the rule decides all that it is given enough runs for.
  EXPECT_EQ(behaviour(rule, bad_rate).undecided, 0);
  EXPECT_LE(behaviour(rule, bad_rate).runs, static_cast<double>(rule.most_runs()));
}

TEST_P(BothRates, DecideAsDraws) {
  const StoppingRule rule = stopping_rule(GetParam());
  std::mt19937 draws(7);
  double runs = 0;
  constexpr int kRepeats = 2000;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    int64_t passes = 0, failures = 0;
    while (decide(rule, passes, failures) == Decision::kRunAgain) {
      const bool fails = draws() < GetParam().bad_at_least * 4294967296.0;
      ++(fails ? failures : passes);
    }
    runs += static_cast<double>(passes + failures);
  }
  const double expected = behaviour(rule, GetParam().bad_at_least).runs;
  EXPECT_NEAR(runs / kRepeats, expected, 0.1 * expected);
}

INSTANTIATE_TEST_SUITE_P(Pairs, BothRates,
                         testing::Values(rates(0.5, 0.05, 0.05), rates(0.9, 0.1, 1e-3),
                                         rates(0.5, 0.3, 1e-5), rates(1, 0.2, 1e-5),
                                         rates(0.3, 1e-3, 1e-2), rates(0.99, 0.98, 0.2)));

// Published: a sequential test of 0.05 against 0.5 at 5 % takes 5 to 6 runs; this one halves the
// error first.
TEST(StoppingRule, IsSequential) {
  const StoppingRule rule = stopping_rule(rates(0.5, 0.05, 0.05));
  EXPECT_LT(behaviour(rule, 0.5).runs, 7);
  EXPECT_LT(behaviour(rule, 0.05).runs, 8);
  EXPECT_GT(rule.most_runs(), 9);
}

TEST(StoppingRule, LeavesUndecidedWhatABudgetIsTooSmallFor) {
  const StoppingRule whole = stopping_rule(rates(0.5, 0.3, 1e-3));
  const StoppingRule cut = stopping_rule(rates(0.5, 0.3, 1e-3, 20));
  EXPECT_EQ(cut.most_runs(), 20);
  EXPECT_EQ(decide(cut, 12, 8), Decision::kUndecided);
  EXPECT_GT(behaviour(cut, 0.5).undecided, 0.1);
  EXPECT_LE(behaviour(cut, 0.5).good, 1e-3);
  EXPECT_EQ(behaviour(whole, 0.5).undecided, 0);
  EXPECT_EQ(stopping_rule(rates(0.5, 0.3, 1e-3, 1000000)).most_runs(), whole.most_runs());
}

TEST(StoppingRule, RefusesWhatIsNoRate) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  for (const FailureRates& wrong :
       {rates(0, 0, 0.1), rates(1.5, 0, 0.1), rates(kNan, 0, 0.1), rates(0.5, 0.5, 0.1),
        rates(0.5, -0.1, 0.1), rates(0.5, kNan, 0.1), rates(0.5, 0, 0), rates(0.5, 0, 0.5),
        rates(0.5, 0, kNan), rates(0.5, 0, 1e-5, -1), rates(0.5, 0, 1e-5, 16), rates(1e-9, 0, 1e-5),
        rates(0.5, 0.49999, 1e-5)}) {
    EXPECT_THROW(stopping_rule(wrong), trace::Error)
        << wrong.bad_at_least << " " << wrong.good_at_most << " " << wrong.error;
  }
  EXPECT_EQ(stopping_rule(rates(0.5, 0, 1e-5, 17)).most_runs(), 17);
}

}  // namespace
}  // namespace nanhunt::bisect
