// SPDX-License-Identifier: Apache-2.0
// What a ring keeps, and what it drops first when memory is short.
#include "hooks/step_ring.h"

#include <gmock/gmock.h>

namespace nanhunt::hooks {
namespace {

using testing::ElementsAre;
using testing::Pair;

constexpr int64_t kRow = 100, kValues = 1000;
constexpr int64_t kNoLimit = 1 << 30;

// A segment of one row and its values.
CutSegment segment(int64_t step, trace::CutReason cut = trace::CutReason::kStepEnd, int slot = 0) {
  CutSegment made;
  made.slot = slot;
  made.bytes = kRow + kValues;
  made.segment.step = step;
  made.segment.cut = cut;
  made.segment.records.resize(1);
  made.segment.records[0].has_values = true;
  made.segment.values.emplace_back(kValues);
  return made;
}

void keep(StepRing& ring, CutSegment cut, int64_t limit = kNoLimit) {
  ring.keep(std::move(cut));
  ring.trim(limit);
}

std::vector<int64_t> steps_in(const std::vector<CutSegment>& cuts) {
  std::vector<int64_t> steps;
  for (const CutSegment& cut : cuts) steps.push_back(cut.segment.step);
  return steps;
}

TEST(StepRing, KeepsTheLastFinishedSteps) {
  StepRing ring(3);
  for (int64_t step = 0; step < 10; ++step) keep(ring, segment(step));
  EXPECT_EQ(ring.bytes(), 3 * (kRow + kValues));
  EXPECT_THAT(steps_in(ring.take_all()), ElementsAre(9, 8, 7)) << "newest first";
  EXPECT_TRUE(ring.empty());
  EXPECT_EQ(ring.bytes(), 0);
}

TEST(StepRing, KeepsAllWhenThereAreFew) {
  StepRing ring(3);
  for (int64_t step = 0; step < 3; ++step) keep(ring, segment(step));
  EXPECT_THAT(steps_in(ring.take_all()), ElementsAre(2, 1, 0));
}

TEST(StepRing, TheStepThatGoesOnIsKeptBesides) {
  StepRing ring(2);
  for (int64_t step = 0; step < 5; ++step) keep(ring, segment(step));
  keep(ring, segment(5, trace::CutReason::kRows));
  keep(ring, segment(5, trace::CutReason::kAge));
  EXPECT_THAT(steps_in(ring.take_all()), ElementsAre(5, 5, 4, 3));
}

TEST(StepRing, EachRankHasItsOwnSteps) {
  StepRing ring(1);
  for (int64_t step = 0; step < 4; ++step) keep(ring, segment(step));
  keep(ring, segment(0, trace::CutReason::kStepEnd, 1));
  EXPECT_THAT(steps_in(ring.take_all()), ElementsAre(3, 0));
}

TEST(StepRing, OldestValuesGoFirst) {
  StepRing ring(3);
  const int64_t limit = 3 * kRow + kValues;
  for (int64_t step = 0; step < 3; ++step) keep(ring, segment(step), limit);
  EXPECT_LE(ring.bytes(), limit);
  const auto all = ring.take_all();
  ASSERT_THAT(steps_in(all), ElementsAre(2, 1, 0)) << "rows stay";
  EXPECT_TRUE(all[0].segment.records[0].has_values);
  EXPECT_TRUE(all[0].segment.dropped.empty());
  for (const auto* older : {&all[1], &all[2]}) {
    EXPECT_FALSE(older->segment.records[0].has_values);
    EXPECT_TRUE(older->segment.values[0].empty());
    EXPECT_THAT(older->segment.dropped, ElementsAre(Pair("ring: values", 1)));
  }
}

TEST(StepRing, ThenTheOldestSteps) {
  StepRing ring(4);
  const int64_t limit = 2 * kRow;
  for (int64_t step = 0; step < 4; ++step) keep(ring, segment(step), limit);
  EXPECT_LE(ring.bytes(), limit);
  const auto all = ring.take_all();
  ASSERT_THAT(steps_in(all), ElementsAre(3, 2));
  EXPECT_THAT(all[1].segment.dropped, testing::Contains(Pair("ring: steps", 2)));
  EXPECT_THAT(all[0].segment.dropped, testing::Not(testing::Contains(Pair("ring: steps", 2))));
}

TEST(StepRing, ThenRowsOfTheStepThatIsLeft) {
  StepRing ring(2);
  const int64_t limit = kRow;
  for (int i = 0; i < 3; ++i) keep(ring, segment(7, trace::CutReason::kRows), limit);
  EXPECT_LE(ring.bytes(), limit);
  const auto all = ring.take_all();
  ASSERT_EQ(all.size(), 3U) << "no segment is missing";
  EXPECT_TRUE(all[0].segment.records.empty());
  EXPECT_THAT(all[0].segment.dropped, testing::Contains(Pair("ring: rows", 1)));
  EXPECT_EQ(all[2].segment.records.size(), 1U);
}

}  // namespace
}  // namespace nanhunt::hooks
