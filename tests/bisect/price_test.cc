// SPDX-License-Identifier: Apache-2.0
#include "bisect/price.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bisect/search.h"

namespace nanhunt::bisect {
namespace {

using testing::HasSubstr;

// The runs of each search, counted; the first bad item at each place but the first.
struct Counted {
  int64_t most = 0;
  double mean = 0;
};

Counted counted(size_t items, size_t survey) {
  Counted result;
  for (size_t change = 1; change < items; ++change) {
    ItemStates states(items, ItemState::kUntried);
    int64_t runs = 0;
    while (const auto item = next_item(states, survey_of(items, survey))) {
      states[*item] = *item < change ? ItemState::kGood : ItemState::kBad;
      ++runs;
    }
    result.most = std::max(result.most, runs);
    result.mean += static_cast<double>(runs) / static_cast<double>(items - 1);
  }
  return result;
}

TEST(Price, IsWhatSearchesTake) {
  const StoppingRule rule = stopping_rule({});
  for (const size_t items : {2u, 3u, 4u, 5u, 17u, 64u, 65u, 66u, 100u}) {
    for (const size_t survey : {0u, 1u, 3u, 8u}) {
      const Price price = price_of(rule, items, false, survey);
      const Counted count = counted(items, survey);
      EXPECT_EQ(price.runs, count.most) << items << " " << survey;
      EXPECT_NEAR(price.expected, count.mean, 1e-9) << items << " " << survey;
    }
  }
}

TEST(Price, OfKnownEndsLeavesThemOut) {
  const StoppingRule rule = stopping_rule({});
  EXPECT_EQ(price_of(rule, 64, false, 0).runs, 8);
  EXPECT_EQ(price_of(rule, 64, true, 0).runs, 6);
  EXPECT_EQ(price_of(rule, 66, false, 0).runs, 9);
}

TEST(Price, CountsTheRunsOfFlakyItems) {
  const StoppingRule rule = stopping_rule({.bad_at_least = 0.5});
  const Price price = price_of(rule, 64, false, 0);
  EXPECT_EQ(price.runs, 8 * 17);
  EXPECT_GT(price.expected, 17 + 2);  // both ends
  EXPECT_LT(price.expected, static_cast<double>(price.runs));
  EXPECT_LE(price.error, 8e-5);
  EXPECT_GT(price.error, 0);
  EXPECT_THAT(describe(price, rule, 64),
              testing::ElementsAre(HasSubstr("at most 136 runs"), HasSubstr("(good)")));
}

TEST(Price, TellsThatABudgetMayLeaveItemsUndecided) {
  const StoppingRule rule =
      stopping_rule({.bad_at_least = 0.5, .good_at_most = 0.3, .error = 1e-3, .max_runs = 20});
  EXPECT_THAT(describe(price_of(rule, 64, false, 0), rule, 64),
              testing::Contains(HasSubstr("stays undecided")));
  EXPECT_EQ(price_of(rule, 64, false, 0).runs, 64 * 20);
}

}  // namespace
}  // namespace nanhunt::bisect
