// SPDX-License-Identifier: Apache-2.0
#include "cli/expectation.h"

#include <gtest/gtest.h>

namespace nanhunt::cli {
namespace {

// Four ranks, tp 2 x dp 2, tp fastest.
std::vector<trace::RunFacts> four_ranks() {
  std::vector<trace::RunFacts> facts(4);
  for (int32_t rank = 0; rank < 4; ++rank) {
    facts[static_cast<size_t>(rank)].rank = rank;
    auto& coordinate = facts[static_cast<size_t>(rank)].mesh_coordinate;
    coordinate[static_cast<size_t>(trace::MeshAxis::kTp)] = rank % 2;
    coordinate[static_cast<size_t>(trace::MeshAxis::kDp)] = rank / 2;
  }
  return facts;
}

oracle::Finding finding(std::vector<int32_t> ranks, oracle::Decider decider,
                        const std::string& group = "") {
  oracle::Finding made;
  made.ranks = std::move(ranks);
  made.decider = decider;
  made.group = group;
  return made;
}

const oracle::Decider kMajority = oracle::Decider::kMajority;
const oracle::Decider kNone = oracle::Decider::kNone;

TEST(RanksMatch, Words) {
  const auto facts = four_ranks();
  EXPECT_TRUE(ranks_match("all", finding({0, 1, 2, 3}, kMajority), facts));
  EXPECT_FALSE(ranks_match("all", finding({0, 1, 2}, kMajority), facts));
  EXPECT_TRUE(ranks_match("rank 2", finding({2}, kMajority), facts));
  EXPECT_FALSE(ranks_match("rank 2", finding({2, 3}, kMajority), facts));
  EXPECT_TRUE(ranks_match("tp 1", finding({1, 3}, kMajority), facts));
  EXPECT_FALSE(ranks_match("tp 1", finding({2, 3}, kMajority), facts));
  EXPECT_TRUE(ranks_match("dp 1", finding({2, 3}, kMajority), facts));
  EXPECT_FALSE(ranks_match("somewhere", finding({2, 3}, kMajority), facts));
}

TEST(RanksMatch, AGroupIsWholeAndHasNoDecider) {
  const auto facts = four_ranks();
  EXPECT_TRUE(ranks_match("group tp", finding({0, 1}, kNone, "tp"), facts));
  EXPECT_TRUE(ranks_match("group tp", finding({0, 1, 2, 3}, kNone, "tp"), facts));
  EXPECT_FALSE(ranks_match("group tp", finding({0, 1}, kMajority, "tp"), facts));
  EXPECT_FALSE(ranks_match("group tp", finding({0, 1, 2}, kNone, "tp"), facts));
  EXPECT_FALSE(ranks_match("group tp", finding({0, 2}, kNone, "dp"), facts));
  EXPECT_FALSE(ranks_match("group tp", finding({}, kNone, "tp"), facts));
}

TEST(SignatureMatches, NameAndNumber) {
  compare::Origin origin;
  origin.signature = "constant_ratio";
  origin.signature_detail = "ratio 2.0003";
  EXPECT_TRUE(signature_matches("constant_ratio", origin));
  EXPECT_TRUE(signature_matches("constant_ratio 2", origin));
  EXPECT_FALSE(signature_matches("constant_ratio 4", origin));
  EXPECT_FALSE(signature_matches("stale", origin));
  EXPECT_FALSE(signature_matches("none", origin));
}

TEST(CauseMatches, SetsAndAlternatives) {
  EXPECT_TRUE(cause_matches("layout.sp parallel.tp", {"parallel.tp", "layout.sp"}));
  EXPECT_FALSE(cause_matches("layout.sp parallel.tp", {"parallel.tp"}));
  EXPECT_TRUE(cause_matches("none", {}));
  EXPECT_FALSE(cause_matches("none", {"a"}));
  EXPECT_TRUE(cause_matches("none | parallel.tp", {"parallel.tp"}));
  EXPECT_TRUE(cause_matches("none | parallel.tp", {}));
}

compare::Verdict diverged() {
  compare::Verdict verdict;
  verdict.kind = compare::VerdictKind::kDivergence;
  verdict.origins.resize(1);
  verdict.origins[0].finding = finding({1}, kMajority);
  verdict.origins[0].finding.what.site = "fc1";
  verdict.origins[0].blame = compare::Blame::kCandidate;
  verdict.cause = compare::Cause{"", {"a"}, true, {}, {}};
  return verdict;
}

TEST(Score, HoldsFieldAgainstField) {
  const Expectation expectation{{{"verdict", "divergence"},
                                 {"site", "fc1"},
                                 {"ranks", "rank 1"},
                                 {"cause", "a"},
                                 {"blame", "candidate"}}};
  EXPECT_TRUE(all_same(score(expectation, diverged(), four_ranks(), four_ranks())));
  compare::Verdict wrong = diverged();
  wrong.origins[0].finding.what.site = "fc2";
  EXPECT_FALSE(all_same(score(expectation, wrong, four_ranks(), four_ranks())));
  wrong = diverged();
  wrong.cause->confirmed = false;
  EXPECT_FALSE(all_same(score(expectation, wrong, four_ranks(), four_ranks())));
}

// A part is no level: it is scored by its name where it is different, whatever the level says.
TEST(Score, HoldsPartsAgainstTheirNames) {
  repro::Report report;
  const auto add = [&](capsule::Level level, const std::string& part, bool different,
                       const std::string& line) {
    report.levels.emplace_back();
    report.levels.back().level = level;
    report.levels.back().part = part;
    report.levels.back().verdict =
        different ? repro::LevelVerdict::kDifferent : repro::LevelVerdict::kEqual;
    report.levels.back().evidence = {line};
  };
  add(capsule::Level::kState, "", false, "all is equal");
  add(capsule::Level::kState, "round trip", true, "a hop");
  add(capsule::Level::kState, "names", true, "renamed");
  add(capsule::Level::kReplay, "configuration", false, "release is 2");
  const auto scored = [&](const std::string& field, const std::string& expected) {
    return all_same(score({{{field, expected}}}, report));
  };
  EXPECT_TRUE(scored("state", "equal"));
  EXPECT_TRUE(scored("parts", "names, round trip"));
  EXPECT_FALSE(scored("parts", "names"));
  EXPECT_FALSE(scored("parts", "none"));
  EXPECT_TRUE(scored("evidence", "renamed"));
  report.levels[1].verdict = report.levels[2].verdict = repro::LevelVerdict::kEqual;
  EXPECT_TRUE(scored("parts", "none"));
}

TEST(Score, ACleanTwinIsCleanAndNothingElse) {
  compare::Verdict verdict;
  verdict.kind = compare::VerdictKind::kClean;
  EXPECT_TRUE(all_same(score(clean_expectation(), verdict, {}, {})));
  EXPECT_FALSE(all_same(score(clean_expectation(), diverged(), {}, {})));
  verdict.kind = compare::VerdictKind::kIncomplete;
  EXPECT_FALSE(all_same(score(clean_expectation(), verdict, {}, {})));
}

}  // namespace
}  // namespace nanhunt::cli
