// SPDX-License-Identifier: Apache-2.0
// Whole searches over tables: runs that always end in the same way, and runs drawn with a fixed
// seed.
#include "bisect/bisect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <random>

#include "bisect/price.h"

namespace nanhunt::bisect {
namespace {

using ablate::ChildEnd;
using ablate::ChildOutcome;
using testing::ElementsAre;

ChildOutcome exits(int status) {
  return {ChildEnd::kExited, status, 0, ""};
}

Task task_of(size_t items, const FailureRates& rates = {}) {
  return {.items = items, .rule = stopping_rule(rates)};
}

Result search(const Task& task, const RunItem& run_item) {
  return bisect(task, run_item, [](size_t, const Trial&, const ChildOutcome&) {});
}

TEST(Bisect, FindsTheBadItemAtEachPlace) {
  for (size_t place = 0; place < 64; ++place) {
    int runs = 0;
    const Result result = search(task_of(64), [&](size_t item, int64_t run) {
      ++runs;
      EXPECT_EQ(run, 1);
      return exits(item >= place ? 1 : 0);
    });
    EXPECT_LE(runs, 8);
    EXPECT_EQ(result.runs, runs);
    EXPECT_EQ(result.answer.first_bad, place);
    // With nothing before it the first item is a wrong end, never an answer.
    EXPECT_EQ(result.answer.kind, place == 0 ? AnswerKind::kFirstIsBad : AnswerKind::kFound);
    EXPECT_EQ(exit_status(result), place == 0 ? 3 : 0);
  }
}

TEST(Bisect, NamesWrongEnds) {
  const Result good = search(task_of(9), [](size_t, int64_t) { return exits(0); });
  EXPECT_EQ(good.answer.kind, AnswerKind::kLastIsGood);
  EXPECT_EQ(good.runs, 2);
  EXPECT_EQ(exit_status(good), 3);
  const Result upside_down =
      search(task_of(9), [](size_t item, int64_t) { return exits(item < 4 ? 1 : 0); });
  EXPECT_EQ(upside_down.answer.kind, AnswerKind::kReversed);
  EXPECT_EQ(exit_status(upside_down), 3);
}

TEST(Bisect, TakesKnownEndsAsGiven) {
  Task task = task_of(9);
  task.ends_known = true;
  std::vector<size_t> tried;
  const Result result = search(task, [&](size_t item, int64_t) {
    tried.push_back(item);
    return exits(item >= 1 ? 1 : 0);
  });
  EXPECT_THAT(tried, ElementsAre(4, 2, 1));
  EXPECT_EQ(result.answer.first_bad, 1u);
  EXPECT_TRUE(result.trials.front().given);
}

TEST(Bisect, KeepsUntestableItemsApart) {
  const auto run = [](int status_of_block) {
    return [=](size_t item, int64_t) {
      if (item >= 20 && item < 40) return exits(status_of_block);
      return exits(item >= 30 ? 1 : 0);
    };
  };
  const Result hidden = search(task_of(64), run(125));
  EXPECT_EQ(hidden.answer.kind, AnswerKind::kCandidates);
  EXPECT_EQ(hidden.answer.last_good, 19u);
  EXPECT_EQ(hidden.answer.first_bad, 40u);
  EXPECT_EQ(hidden.answer.candidates.size(), 21u);
  EXPECT_EQ(exit_status(hidden), 125);
  const Result told = search(task_of(64), run(1));
  EXPECT_EQ(told.answer.first_bad, 20u);
  EXPECT_EQ(exit_status(told), 0);
}

TEST(Bisect, StopsAtASignalAsGitDoes) {
  const auto run = [](size_t item, int64_t) {
    const ChildOutcome crash{ChildEnd::kSignalled, SIGSEGV, 0, ""};
    return item >= 5 ? crash : exits(0);
  };
  const Result stopped = search(task_of(9), run);
  EXPECT_EQ(stopped.stopped, "killed by SIGSEGV");
  EXPECT_EQ(stopped.stopped_at, 8u);
  EXPECT_EQ(exit_status(stopped), 125);
  Task task = task_of(9);
  task.statuses.bad = parse_statuses("SIGSEGV");
  const Result found = search(task, run);
  EXPECT_EQ(found.stopped, "");
  EXPECT_EQ(found.answer.first_bad, 5u);
}

TEST(Bisect, ATimeOutTellsNothingUnlessSaidOtherwise) {
  const auto run = [](size_t item, int64_t) {
    const ChildOutcome late{ChildEnd::kTimedOut, 0, 0, ""};
    return item == 4 ? late : exits(item >= 5 ? 1 : 0);
  };
  const Result open = search(task_of(9), run);
  EXPECT_THAT(open.answer.candidates, ElementsAre(4, 5));
  Task task = task_of(9);
  task.statuses.timeout = Meaning::kBad;
  EXPECT_EQ(search(task, run).answer.first_bad, 4u);
}

TEST(Bisect, DoesNotHideAGoodItemAfterABadOne) {
  Task task = task_of(33);
  const auto run = [](size_t item, int64_t) {
    return exits(item >= 5 && (item < 12 || item >= 28) ? 1 : 0);
  };
  task.survey = 3;
  const Result seen = search(task, run);
  EXPECT_THAT(seen.answer.good_after_bad, ElementsAre(16, 24));
  EXPECT_EQ(seen.answer.first_bad, 5u);
  const Result monotonic =
      search(task, [](size_t item, int64_t) { return exits(item >= 5 ? 1 : 0); });
  EXPECT_TRUE(monotonic.answer.good_after_bad.empty());
}

// A bad item fails in half of its runs, a good one in `good_rate` of them.
struct Flaky {
  size_t first_bad = 0;
  double good_rate = 0;
  std::mt19937 draws;

  ChildOutcome operator()(size_t item, int64_t) {
    const double rate = item >= first_bad ? 0.5 : good_rate;
    return exits(draws() < rate * 4294967296.0 ? 1 : 0);
  }
};

// Of 50 searches: how many named a wrong item.
int wrong_answers(const FailureRates& rates, double good_rate) {
  const Task task = task_of(64, rates);
  const Price price = price_of(task.rule, task.items, false, 0);
  int wrong = 0;
  for (uint32_t repeat = 0; repeat < 50; ++repeat) {
    const size_t first_bad = 1 + (repeat * 37) % 63;
    const Result result = search(task, Flaky{first_bad, good_rate, std::mt19937(repeat)});
    EXPECT_LE(result.runs, price.runs);
    wrong += exit_status(result) != 125 && result.answer.first_bad != first_bad;
  }
  return wrong;
}

TEST(Flakiness, IsNeverWrongWithinItsError) {
  EXPECT_EQ(wrong_answers({.bad_at_least = 0.5}, 0), 0);
  EXPECT_EQ(wrong_answers({.bad_at_least = 0.5, .good_at_most = 0.1}, 0.1), 0);
  EXPECT_EQ(wrong_answers({.bad_at_least = 0.5, .good_at_most = 0.1, .max_runs = 25}, 0.1), 0);
}

// The same draws, taken for runs that always end in the same way.
TEST(Flakiness, MisleadsWhoTrustsOneRun) {
  EXPECT_GT(wrong_answers({}, 0), 10);
  EXPECT_GT(wrong_answers({.bad_at_least = 0.5}, 0.1), 10);
}

TEST(Flakiness, IsPricedBeforehand) {
  const Task task = task_of(64, {.bad_at_least = 0.5});
  double runs = 0;
  int64_t repeats = 0;
  for (uint32_t seed = 0; seed < 10; ++seed) {
    for (size_t first_bad = 1; first_bad < 64; ++first_bad, ++repeats) {
      runs += static_cast<double>(search(task, Flaky{first_bad, 0, std::mt19937(seed)}).runs);
    }
  }
  const double expected = price_of(task.rule, 64, false, 0).expected;
  EXPECT_NEAR(runs / static_cast<double>(repeats), expected, 0.05 * expected);
}

TEST(Flakiness, AddsUpTheErrorsOfItsDecisions) {
  const Result result =
      search(task_of(64, {.bad_at_least = 0.5, .error = 1e-3}), Flaky{40, 0, std::mt19937(3)});
  EXPECT_EQ(result.called_good + result.called_bad, 8);
  EXPECT_EQ(result.error_bad, 0);
  EXPECT_LE(result.error_good, 1e-3);
  EXPECT_DOUBLE_EQ(result.error, static_cast<double>(result.called_good) * result.error_good);
  EXPECT_GT(result.error, 0);
}

}  // namespace
}  // namespace nanhunt::bisect
