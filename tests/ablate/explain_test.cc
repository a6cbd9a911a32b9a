// SPDX-License-Identifier: Apache-2.0
#include "ablate/explain.h"

#include <gtest/gtest.h>

namespace nanhunt::ablate {
namespace {

compare::Verdict failure(std::vector<int32_t> ranks, oracle::Decider decider) {
  compare::Origin origin;
  origin.finding.ranks = std::move(ranks);
  origin.finding.decider = decider;
  origin.hosts = {"node7"};
  compare::Verdict verdict;
  verdict.kind = compare::VerdictKind::kNonFinite;
  verdict.origins = {origin};
  return verdict;
}

SearchResult found(std::vector<std::string> toggles, bool confirmed) {
  SearchResult result;
  result.necessary = std::move(toggles);
  result.confirmed = confirmed;
  if (!confirmed) result.why_not = "the failing side without them still fails";
  return result;
}

const oracle::Decider kRecomputed = oracle::Decider::kRecomputation;

TEST(CauseStatement, NamesConfirmedToggles) {
  EXPECT_EQ(
      cause_statement(found({"layout.sp", "parallel.tp"}, true), failure({0, 1}, kRecomputed), 2),
      "layout.sp and parallel.tp explain it: with any one of them switched off the failure is "
      "gone; switched on alone, the reference fails the same way");
}

TEST(CauseStatement, SaysWhatIsNotConfirmed) {
  EXPECT_EQ(cause_statement(found({"a"}, false), failure({0, 1}, kRecomputed), 2),
            "a explains it: switched off, the failure is gone; not confirmed: the failing side "
            "without them still fails");
}

TEST(CauseStatement, PointsAtDataOrHardwareOfASingleRank) {
  EXPECT_EQ(cause_statement(found({}, false), failure({3}, kRecomputed), 4),
            "no toggle explains it: data or hardware of rank 3 on host node7");
}

TEST(CauseStatement, LeavesOtherFailuresOpen) {
  const std::string open =
      "unresolved: no single switch-off helps, and sets of switches are not searched";
  EXPECT_EQ(cause_statement(found({}, false), failure({0, 1}, kRecomputed), 2), open);  // all ranks
  EXPECT_EQ(cause_statement(found({}, false), failure({3}, oracle::Decider::kNone), 4), open);
  EXPECT_EQ(cause_statement(found({}, false), failure({3}, oracle::Decider::kReference), 4), open);
}

}  // namespace
}  // namespace nanhunt::ablate
