// SPDX-License-Identifier: Apache-2.0
// Which item is tried next, and what the answer is, on states alone.
#include "bisect/search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace nanhunt::bisect {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Places = std::vector<size_t>;

constexpr ItemState kUntried = ItemState::kUntried, kGood = ItemState::kGood,
                    kBad = ItemState::kBad, kUntestable = ItemState::kUntestable;

// Searches a list whose truth is known; returns the items in the order in which they were tried.
Places search(const ItemStates& truth, ItemStates& states, const Places& survey = {}) {
  states.assign(truth.size(), kUntried);
  Places tried;
  while (const auto item = next_item(states, survey)) {
    states[*item] = truth[*item];
    tried.push_back(*item);
  }
  return tried;
}

ItemStates bad_from(size_t items, size_t first_bad) {
  ItemStates truth(items, kGood);
  for (size_t i = first_bad; i < items; ++i) truth[i] = kBad;
  return truth;
}

TEST(Search, TriesBothEndsFirst) {
  ItemStates states;
  EXPECT_THAT(search(bad_from(3, 1), states), ElementsAre(0, 2, 1));
  EXPECT_THAT(search(bad_from(2, 1), states), ElementsAre(0, 1));
}

TEST(Search, HalvesTheRest) {
  ItemStates states;
  for (size_t place = 1; place < 64; ++place) {
    EXPECT_LE(search(bad_from(64, place), states).size(), 8u) << place;
    const Answer answer = answer_of(states);
    EXPECT_EQ(answer.kind, AnswerKind::kFound) << place;
    EXPECT_EQ(answer.first_bad, place);
    EXPECT_EQ(answer.last_good, place - 1);
  }
}

TEST(Search, StopsAtWrongEnds) {
  const auto kind_of = [](const ItemStates& truth) {
    ItemStates states;
    EXPECT_EQ(search(truth, states).size(), 2u);
    return answer_of(states).kind;
  };
  EXPECT_EQ(kind_of({kBad, kBad, kBad}), AnswerKind::kFirstIsBad);
  EXPECT_EQ(kind_of({kGood, kGood, kGood}), AnswerKind::kLastIsGood);
  EXPECT_EQ(kind_of({kBad, kGood, kGood}), AnswerKind::kReversed);
  EXPECT_EQ(kind_of({kUntestable, kGood, kBad}), AnswerKind::kEndUntestable);
  EXPECT_EQ(kind_of({kGood, kGood, kUntestable}), AnswerKind::kEndUntestable);
  EXPECT_EQ(kind_of({kUntestable, kGood, kGood}), AnswerKind::kLastIsGood);
}

// A block of untestable items around the change, of each size at each place.
TEST(Search, NamesCandidatesThatItCouldNotSeparate) {
  for (size_t change = 1; change < 24; ++change) {
    for (size_t begin = 1; begin < 23; ++begin) {
      for (size_t end = begin; end < 23; ++end) {
        ItemStates truth = bad_from(24, change), states;
        for (size_t i = begin; i < end; ++i) truth[i] = kUntestable;
        search(truth, states);
        const Answer answer = answer_of(states);
        Places expected;
        size_t last_good = change - 1, first_bad = change;
        while (truth[last_good] == kUntestable) --last_good;
        while (truth[first_bad] == kUntestable) ++first_bad;
        for (size_t i = last_good + 1; i <= first_bad; ++i) expected.push_back(i);
        ASSERT_EQ(answer.candidates, expected) << change << " " << begin << " " << end;
        ASSERT_EQ(answer.kind, expected.size() == 1 ? AnswerKind::kFound : AnswerKind::kCandidates);
      }
    }
  }
}

TEST(Search, LeavesABlockThatDoesNotHideTheChange) {
  ItemStates truth = bad_from(1000, 100), states;
  for (size_t i = 450; i < 550; ++i) truth[i] = kUntestable;
  // Item by item from the middle would try all 100 of them.
  EXPECT_LE(search(truth, states).size(), 16u);
  EXPECT_EQ(answer_of(states).first_bad, 100u);
  EXPECT_EQ(answer_of(states).kind, AnswerKind::kFound);
}

TEST(Search, NeverTriesAnItemTwice) {
  ItemStates truth(40, kUntestable), states;
  truth.front() = kGood;
  truth.back() = kBad;
  const Places tried = search(truth, states);
  EXPECT_EQ(tried.size(), 40u);
  EXPECT_EQ(std::set<size_t>(tried.begin(), tried.end()).size(), 40u);
  EXPECT_EQ(answer_of(states).candidates.size(), 39u);
}

TEST(Survey, LiesEvenlyBetweenTheEnds) {
  EXPECT_THAT(survey_of(9, 3), ElementsAre(2, 4, 6));
  EXPECT_THAT(survey_of(4, 100), ElementsAre(1, 2));
  EXPECT_THAT(survey_of(2, 5), IsEmpty());
  EXPECT_THAT(survey_of(9, 0), IsEmpty());
}

TEST(Survey, ShowsAGoodItemAfterABadOne) {
  ItemStates truth = bad_from(9, 3), states;
  truth[6] = kGood;
  search(truth, states, survey_of(9, 3));
  EXPECT_THAT(answer_of(states).good_after_bad, ElementsAre(6));
  EXPECT_EQ(answer_of(states).first_bad, 3u);
  search(bad_from(9, 3), states, survey_of(9, 3));
  EXPECT_THAT(answer_of(states).good_after_bad, IsEmpty());
  EXPECT_EQ(answer_of(states).first_bad, 3u);
}

TEST(Answer, IsTheEarliestBadItemWhateverIsKnownAfterIt) {
  const Answer answer = answer_of({kGood, kGood, kBad, kGood, kUntried, kGood, kBad});
  EXPECT_EQ(answer.kind, AnswerKind::kFound);
  EXPECT_EQ(answer.last_good, 1u);
  EXPECT_EQ(answer.first_bad, 2u);
  EXPECT_THAT(answer.good_after_bad, ElementsAre(3, 5));
}

}  // namespace
}  // namespace nanhunt::bisect
