// SPDX-License-Identifier: Apache-2.0
// The search against truth tables: which toggles make the failure, and how many trials it may take.
#include "ablate/search.h"

#include <gtest/gtest.h>

namespace nanhunt::ablate {
namespace {

using Names = std::vector<std::string>;

const Names kToggles = {"a", "b", "c", "d", "e"};

struct Truth {
  std::function<TrialVerdict(const Configuration&)> of;
  int calls = 0;
  int rounds = 0;

  TryAll try_all() {
    return [this](const std::vector<Configuration>& configurations) {
      ++rounds;
      std::vector<TrialVerdict> verdicts;
      for (const Configuration& each : configurations) {
        ++calls;
        verdicts.push_back(of(each));
      }
      return verdicts;
    };
  }
};

TrialVerdict verdict(bool fails) {
  return {fails ? TrialResult::kFail : TrialResult::kPass, ""};
}

TEST(Search, FindsASingleCause) {
  Truth truth{[](const Configuration& on) { return verdict(on.contains("c")); }};
  const SearchResult result = search_cause(kToggles, truth.try_all());
  EXPECT_EQ(result.necessary, Names{"c"});
  EXPECT_EQ(result.sufficient, Names{"c"});
  EXPECT_TRUE(result.confirmed);
  EXPECT_EQ(truth.calls, 10);  // both confirmations are trials of the first round
  EXPECT_EQ(truth.rounds, 1);
  EXPECT_EQ(result.trials, truth.calls);
}

TEST(Search, FindsAPairNeededTogether) {
  Truth truth{
      [](const Configuration& on) { return verdict(on.contains("b") && on.contains("d")); }};
  const SearchResult result = search_cause(kToggles, truth.try_all());
  EXPECT_EQ(result.necessary, (Names{"b", "d"}));
  EXPECT_TRUE(result.sufficient.empty());
  EXPECT_TRUE(result.confirmed);
  EXPECT_EQ(truth.calls, 12);
  EXPECT_LE(truth.calls, most_trials(kToggles.size()));
}

TEST(Search, NamesNoneOfTwoSeparateCauses) {
  Truth truth{
      [](const Configuration& on) { return verdict(on.contains("a") || on.contains("e")); }};
  const SearchResult result = search_cause(kToggles, truth.try_all());
  EXPECT_TRUE(result.necessary.empty());
  EXPECT_EQ(result.sufficient, (Names{"a", "e"}));
  EXPECT_FALSE(result.confirmed);
  EXPECT_EQ(truth.calls, 10);
}

TEST(Search, DoesNotConfirmASetThatIsNotEnough) {
  // d heals, but only a pair with one of the others fails.
  Truth truth{[](const Configuration& on) { return verdict(on.contains("d") && on.size() >= 3); }};
  const SearchResult result = search_cause(kToggles, truth.try_all());
  EXPECT_EQ(result.necessary, Names{"d"});
  EXPECT_FALSE(result.confirmed);
  EXPECT_EQ(result.why_not, "the reference with only these switched on does not fail");
}

TEST(Search, KeepsUnresolvedTrialsApart) {
  Truth truth{[](const Configuration& on) {
    if (!on.contains("a") && on.size() > 1)
      return TrialVerdict{TrialResult::kUnresolved, "time-out"};
    return verdict(on.contains("c"));
  }};
  const SearchResult result = search_cause(kToggles, truth.try_all());
  EXPECT_EQ(result.necessary, Names{"c"});
  ASSERT_EQ(result.undecided.size(), 1u);
  EXPECT_EQ(result.undecided[0].first, "a");
  EXPECT_EQ(result.undecided[0].second, "time-out");
  EXPECT_TRUE(result.confirmed);
}

TEST(Search, SaysWhyAConfirmationCouldNotTell) {
  Truth truth{[](const Configuration& on) {
    if (on == Configuration{"b", "d"}) return TrialVerdict{TrialResult::kUnresolved, "crash"};
    return verdict(on.contains("b") && on.contains("d"));
  }};
  const SearchResult result = search_cause(kToggles, truth.try_all());
  EXPECT_EQ(result.necessary, (Names{"b", "d"}));
  EXPECT_FALSE(result.confirmed);
  EXPECT_EQ(result.why_not, "the reference with only these switched on could not tell: crash");
}

TEST(Search, NeedsNoTrialForOneToggle) {
  Truth truth{[](const Configuration&) { return verdict(true); }};
  const SearchResult result = search_cause({"a"}, truth.try_all());
  EXPECT_EQ(result.necessary, Names{"a"});
  EXPECT_TRUE(result.confirmed);
  EXPECT_EQ(truth.calls, 0);
}

TEST(Search, FindsNothingWithoutToggles) {
  Truth truth{[](const Configuration&) { return verdict(true); }};
  const SearchResult result = search_cause({}, truth.try_all());
  EXPECT_TRUE(result.necessary.empty());
  EXPECT_FALSE(result.confirmed);
  EXPECT_EQ(truth.calls, 0);
}

}  // namespace
}  // namespace nanhunt::ablate
