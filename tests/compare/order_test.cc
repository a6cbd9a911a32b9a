// SPDX-License-Identifier: Apache-2.0
// Happens-before: program order per lane, data along links, issue to completion of collectives.
#include "compare/order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compare/precedence.h"
#include "tests/compare/trace_builder.h"

namespace nanhunt::compare::test {
namespace {

using testing::ElementsAre;

const Values kOnes(4, 1.0f);

struct Ordered {
  explicit Ordered(const TraceBuilder& builder)
      : step(builder.step(0)), flow(step), order(step, flow) {}
  int at(int rank, int64_t sequence) const { return step.find(rank, sequence); }
  bool before(int rank_a, int64_t a, int rank_b, int64_t b) const {
    return order.before(at(rank_a, a), at(rank_b, b));
  }

  trace::Step step;
  Flow flow;
  Order order;
};

TEST(Order, FollowsTheProgramOfOneRank) {
  TraceBuilder builder(2);
  for (const int rank : {0, 1}) {
    builder.add({rank, "a"}, kOnes, copies({4}));
    builder.add({rank, "b"}, kOnes, copies({4}));
  }
  const Ordered run(builder);
  EXPECT_TRUE(run.before(0, 0, 0, 1));
  EXPECT_FALSE(run.before(0, 1, 0, 0));
  EXPECT_FALSE(run.before(0, 0, 1, 1)) << "no message relates the ranks";
}

TEST(Order, RelatesRanksThroughACollectiveOnly) {
  TraceBuilder builder(2);
  for (const int rank : {0, 1}) {
    builder.add({rank, "a"}, kOnes, copies({4}));
    builder.add({rank, "a", trace::Phase::kPreCollective}, kOnes, partial({4}));
    builder.add({rank, "a", trace::Phase::kPostCollective}, kOnes, copies({4}));
  }
  EXPECT_FALSE(Ordered(builder).before(0, 0, 1, 2)) << "without the collective";
  builder.collective("all_reduce", {0, 1}, {1, 1}, {2, 2});
  const Ordered run(builder);
  EXPECT_TRUE(run.before(0, 0, 1, 2));
  EXPECT_TRUE(run.before(1, 1, 0, 2));
  EXPECT_FALSE(run.before(0, 2, 1, 2));
}

TEST(Order, BroadcastFlowsFromItsRootAlone) {
  TraceBuilder builder(2);
  for (const int rank : {0, 1}) {
    builder.add({rank, "a", trace::Phase::kPreCollective}, kOnes, copies({4}));
    builder.add({rank, "a", trace::Phase::kPostCollective}, kOnes, copies({4}));
  }
  builder.collective("broadcast", {0, 1}, {0, 0}, {1, 1});
  const Ordered run(builder);
  EXPECT_TRUE(run.before(0, 0, 1, 1));
  EXPECT_FALSE(run.before(1, 0, 0, 1));
}

TEST(Order, LanesOfOneRankMeetAlongDataOnly) {
  TraceBuilder builder;
  builder.add({0, "a"}, kOnes, copies({4}));
  Tap other{0, "b"};
  other.lane = trace::Lane::kCommunication;
  builder.add(other, kOnes, copies({4}));
  EXPECT_FALSE(Ordered(builder).before(0, 0, 0, 1));
  other.site = "c";
  other.links = {0};
  builder.add(other, kOnes, copies({4}));
  EXPECT_TRUE(Ordered(builder).before(0, 0, 0, 2));
}

TEST(Order, ARingOfLinksIsCut) {
  TraceBuilder builder;
  builder.add({0, "a", trace::Phase::kForward, "output", {1}}, kOnes, copies({4}));
  builder.add({0, "b", trace::Phase::kForward, "output", {0}}, kOnes, copies({4}));
  const Ordered run(builder);
  EXPECT_NE(run.order.position(0), run.order.position(1));
}

TEST(Precedence, UnrelatedPlacesGoBySiteNotByArrival) {
  TraceBuilder builder(2);
  builder.add({0, "first"}, kOnes, copies({4}));
  builder.add({0, "second"}, kOnes, copies({4}));
  builder.add({1, "second"}, kOnes, copies({4}));
  builder.add({1, "first"}, kOnes, copies({4}));
  const Ordered run(builder);
  const int second_on_1 = run.at(1, 0), first_on_0 = run.at(0, 0);
  EXPECT_THAT(in_causal_order(run.order, {{7, {second_on_1}}, {8, {first_on_0}}}),
              ElementsAre(8, 7));
  // Program order outweighs the order of sites.
  const int first_on_1 = run.at(1, 1);
  EXPECT_THAT(in_causal_order(run.order, {{7, {first_on_1}}, {8, {second_on_1}}}),
              ElementsAre(8, 7));
}

}  // namespace
}  // namespace nanhunt::compare::test
