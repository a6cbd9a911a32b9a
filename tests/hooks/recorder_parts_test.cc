// SPDX-License-Identifier: Apache-2.0
// The parts that are pure: when to cut, and what a rank's log becomes.
#include <gmock/gmock.h>

#include "hooks/cut_policy.h"
#include "hooks/pack_values.h"
#include "hooks/rank_log.h"
#include "tests/hooks/recorder_fixture.h"

namespace nanhunt::hooks {
namespace {

using enum trace::CutReason;

constexpr int64_t kByteLimit = 1000;
const Clock::time_point kStart{std::chrono::seconds{100}};

TEST(CutPolicy, CutsAtRowsAgeBytesPressureAndNonFinite) {
  const Growth young{.rows = 511, .bytes = 999, .oldest = kStart};
  const auto just_before = kStart + kCutAge - std::chrono::nanoseconds{1};
  EXPECT_EQ(cut_due(young, just_before, kByteLimit, false), std::nullopt);
  EXPECT_EQ(cut_due(young, kStart + kCutAge, kByteLimit, false), kAge);
  EXPECT_EQ(cut_due(young, kStart, kByteLimit, true), kRows);
  Growth grown = young;
  grown.rows = 512;
  EXPECT_EQ(cut_due(grown, kStart, kByteLimit, false), kRows);
  grown = young;
  grown.bytes = 1000;
  EXPECT_EQ(cut_due(grown, kStart, kByteLimit, false), kRows);
  grown = young;
  grown.non_finite = true;
  EXPECT_EQ(cut_due(grown, kStart, kByteLimit, false), kNonFinite);
}

TEST(CutPolicy, NothingIsNeverCut) {
  EXPECT_EQ(cut_due({}, kStart + std::chrono::hours{1}, kByteLimit, true), std::nullopt);
}

QueueItem item_of(auto body) {
  QueueItem item;
  item.body = std::move(body);
  return item;
}

class RankLogTest : public testing::Test {
 protected:
  void accept(auto body) { log_.accept(item_of(std::move(body)), cut_); }

  RankLog log_{0, facts_of_rank(3, 4)};
  std::vector<CutSegment> cut_;
};

TEST_F(RankLogTest, StepsAreCountedFromIndexZero) {
  accept(StepBegun{5});
  accept(Row{});
  accept(CutNow{kTrigger, "now"});
  accept(StepEnded{});
  accept(StepBegun{6});
  accept(StepEnded{});
  ASSERT_EQ(cut_.size(), 3U);
  EXPECT_EQ(cut_[0].segment.records.size(), 1U);
  EXPECT_EQ(cut_[0].segment.cut_detail, "now");
  EXPECT_EQ(cut_[1].segment.index, 1);
  EXPECT_EQ(cut_[1].segment.cut, kStepEnd);
  EXPECT_EQ(cut_[2].segment.step, 6);
  EXPECT_EQ(cut_[2].segment.index, 0);
  EXPECT_EQ(cut_[2].segment.rank, 3);
}

TEST_F(RankLogTest, StepBegunAgainKeepsItsFiles) {
  accept(StepBegun{5});
  accept(StepEnded{});
  accept(StepBegun{5});
  accept(StepEnded{});
  ASSERT_EQ(cut_.size(), 2U);
  EXPECT_EQ(cut_[1].segment.index, 1);
}

TEST_F(RankLogTest, DeathIsToldOnceAndEvenWithoutRows) {
  accept(StepBegun{5});
  log_.cut_at_end(kException, "out of luck", cut_);
  log_.cut_at_end(kSignal, "SIGABRT", cut_);
  ASSERT_EQ(cut_.size(), 1U) << "the abort that follows an exception is not its cause";
  EXPECT_EQ(cut_[0].segment.cut_detail, "out of luck");
  accept(Row{});
  log_.cut_at_end(kSignal, "SIGTERM", cut_);
  EXPECT_EQ(cut_.size(), 2U) << "a process that survived is captured on";
}

TEST_F(RankLogTest, AnAnnouncedDeathStaysTheReason) {
  accept(StepBegun{5});
  accept(CutNow{kException, "KeyError: 'x'"});
  log_.cut_at_end(kClose, "closed", cut_);
  ASSERT_EQ(cut_.size(), 1U);
  EXPECT_EQ(cut_[0].segment.cut, kException);
  accept(Row{});
  log_.cut_at_end(kClose, "closed", cut_);
  ASSERT_EQ(cut_.size(), 2U) << "what came after it is still written";
  EXPECT_EQ(cut_[1].segment.cut, kClose);
}

TEST_F(RankLogTest, BetweenStepsThereIsNothingToCut) {
  log_.cut_at_end(kSignal, "SIGTERM", cut_);
  accept(StepBegun{5});
  accept(StepEnded{});
  log_.cut(kClose, "", cut_);
  EXPECT_EQ(cut_.size(), 1U);
}

TEST_F(RankLogTest, DeathBetweenStepsIsToldBehindTheLastStep) {
  accept(StepBegun{5});
  accept(StepEnded{});
  log_.cut_at_end(kSignal, "SIGSEGV", cut_);
  log_.cut_at_end(kSignal, "SIGABRT", cut_);
  ASSERT_EQ(cut_.size(), 2U);
  EXPECT_EQ(cut_[1].segment.step, 5);
  EXPECT_EQ(cut_[1].segment.index, 1);
  EXPECT_EQ(cut_[1].segment.cut, kSignal);
  EXPECT_EQ(cut_[1].segment.cut_detail, "SIGSEGV");
  EXPECT_TRUE(cut_[1].segment.records.empty());
}

TEST_F(RankLogTest, WhatIsLeftOutBetweenStepsIsStillWrittenDown) {
  accept(StepBegun{5});
  accept(StepEnded{});
  accept(LeftOut{"hook_failed: x"});
  accept(CutNow{kTrigger, "hook failed: x"});
  ASSERT_EQ(cut_.size(), 2U);
  EXPECT_EQ(cut_[1].segment.step, 5);
  EXPECT_EQ(cut_[1].segment.cut, kStepEnd) << "the step itself was whole";
  EXPECT_EQ(cut_[1].segment.dropped.size(), 1U);
}

TEST_F(RankLogTest, CollectiveOpenAtDeathIsShown) {
  accept(StepBegun{5});
  trace::Collective collective;
  collective.op = "all_reduce";
  accept(CollectiveIssued{4, collective});
  log_.cut(kRows, "", cut_);
  EXPECT_TRUE(cut_.back().segment.collectives.empty()) << "it may still complete";
  log_.cut_at_end(kSignal, "SIGTERM", cut_);
  ASSERT_EQ(cut_.back().segment.collectives.size(), 1U);
  EXPECT_EQ(cut_.back().segment.collectives[0].complete_sequence, -1);
  EXPECT_EQ(cut_.back().segment.collective_index[0], 4);
}

TEST(PackValues, FollowsStridesOfAnyOrder) {
  const std::vector<int16_t> storage{0, 1, 2, 3, 4, 5, 6, 7};
  trace::TensorView view =
      trace::contiguous_view(storage.data(), trace::DType::kInt16, {2, 2, 2});
  const auto packed = [&] {
    const auto bytes = pack_values(view);
    const auto* first = reinterpret_cast<const int16_t*>(bytes.data());
    return std::vector<int16_t>(first, first + bytes.size() / sizeof(int16_t));
  };
  EXPECT_THAT(packed(), testing::ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  view.strides = {1, 4, 2};
  EXPECT_THAT(packed(), testing::ElementsAre(0, 2, 4, 6, 1, 3, 5, 7));
  view.shape = {2, 0, 2};
  EXPECT_THAT(packed(), testing::IsEmpty());
  view.shape = {};
  view.strides = {};
  EXPECT_THAT(packed(), testing::ElementsAre(0)) << "a scalar has one element";
}

}  // namespace
}  // namespace nanhunt::hooks
