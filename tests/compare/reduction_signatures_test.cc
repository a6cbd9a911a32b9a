// SPDX-License-Identifier: Apache-2.0
// Signatures of reductions, and their twins.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tests/compare/signature_verdicts.h"

namespace nanhunt::compare::test {
namespace {

using trace::Phase;

// Copies hold shares of the gradient.
Edit shares(double of_first) {
  return [=](const Tap& tap, Values& values) {
    if (!at(tap, "norm.weight", Phase::kUnscaled, "grad")) return;
    const Values share = normal_values(values.size(), 7);
    values = tap.rank == 0 ? times(share, of_first) : plus(values, times(share, -1));
  };
}

TEST(Signatures, MissingReduction) {
  const Verdict verdict = verdict_of(shares(1));
  ASSERT_FALSE(verdict.origins.empty());
  EXPECT_EQ(verdict.origins.front().finding.rule, "replicas_equal") << to_text(verdict);
  EXPECT_FALSE(verdict.origins.front().finding.which_known());
  EXPECT_EQ(signature_of(verdict), "missing_reduction") << to_text(verdict);
}

TEST(Signatures, MissingReductionRefusesSharesThatDoNotAddUp) {
  EXPECT_NE(signature_of(verdict_of(shares(3))), "missing_reduction");
}

// The bias enters the output once a rank.
Edit bias_added(double further) {
  return [=](const Tap& tap, Values& values) {
    if (!at(tap, "fc2")) return;
    const Values bias = normal_values(kChannels, std::hash<std::string>()("fc2.bias"), 0.5);
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] += static_cast<float>(further * bias[i % kChannels]);
    }
  };
}

TEST(Signatures, ReducedTwice) {
  const Verdict with_values = verdict_of(bias_added(1), true);
  EXPECT_EQ(signature_of(with_values), "reduced_twice") << to_text(with_values);
  const Verdict sketches = verdict_of(bias_added(1), false);
  EXPECT_EQ(signature_of(sketches), "reduced_twice") << to_text(sketches);
}

TEST(Signatures, ReducedTwiceRefusesAnotherMultiple) {
  EXPECT_NE(signature_of(verdict_of(bias_added(2.5), true)), "reduced_twice");
  EXPECT_NE(signature_of(verdict_of(bias_added(2.5), false)), "reduced_twice");
}

// A norm over a sharded and a replicated gradient on two ranks that counts the replicated one
// `times`.
TraceBuilder norm_trace(int tp, double times_counted) {
  TraceBuilder builder(tp);
  const Values sharded = normal_values(64, 1), replicated = normal_values(32, 2);
  double a = 0, b = 0;
  for (const float value : sharded) a += double{value} * value;
  for (const float value : replicated) b += double{value} * value;
  for (int rank = 0; rank < tp; ++rank) {
    const auto width = static_cast<size_t>(64 / tp);
    const auto begin = sharded.begin() + static_cast<std::ptrdiff_t>(width) * rank;
    builder.add({rank, "w.weight", Phase::kUnscaled, "grad"},
                Values(begin, begin + static_cast<std::ptrdiff_t>(width)),
                slice({64}, 0, rank, tp));
    builder.add({rank, "n.weight", Phase::kUnscaled, "grad"}, replicated, copies({32}));
    builder.scalar({rank, "optimizer", Phase::kClipped, "grad_norm", {0, 1}},
                   std::sqrt(a + times_counted * b));
  }
  return builder;
}

TEST(Signatures, NormThatCountsReplicas) {
  const Verdict verdict = verdict_of(norm_trace(2, 2), norm_trace(1, 1), false);
  ASSERT_FALSE(verdict.origins.empty());
  EXPECT_EQ(verdict.origins.front().finding.what.role, "grad_norm") << to_text(verdict);
  EXPECT_EQ(signature_of(verdict), "reduced_twice") << to_text(verdict);
}

TEST(Signatures, NormThatIsWrongOtherwise) {
  EXPECT_NE(signature_of(verdict_of(norm_trace(2, 3.3), norm_trace(1, 1), false)), "reduced_twice");
}

TEST(Signatures, AfterEqualsBefore) {
  const Verdict verdict = verdict_of([](const Tap& tap, Values& values) {
    // Rank 1 goes on with its own operand.
    if (at(tap, "fc2", Phase::kPostCollective) && tap.rank == 1) values = times(values, 0.5);
  });
  EXPECT_EQ(signature_of(verdict), "after_equals_before") << to_text(verdict);
  EXPECT_THAT(verdict.origins.front().finding.ranks, testing::ElementsAre(1));
}

TEST(Signatures, AfterEqualsBeforeRefusesAnotherWrongResult) {
  const Verdict verdict = verdict_of([](const Tap& tap, Values& values) {
    if (at(tap, "fc2", Phase::kPostCollective) && tap.rank == 1) values = times(values, 0.7);
  });
  ASSERT_FALSE(verdict.origins.empty());
  EXPECT_NE(signature_of(verdict), "after_equals_before") << to_text(verdict);
}

// A gradient that two replicas sum up and then clip by themselves. `edit` changes what rank 1 goes
// on with, which is given its own operand.
TraceBuilder summed_gradient(int dp, const std::function<void(const Values&, Values&)>& edit) {
  TraceBuilder builder(1, dp);
  const Values own[] = {normal_values(64, 70), normal_values(64, 71)};
  const Values sum = plus(own[0], own[1]);
  std::vector<int> group;
  std::vector<int64_t> operands, results;
  for (int rank = 0; rank < dp && dp > 1; ++rank) {
    group.push_back(rank);
    operands.push_back(builder.add({rank, "w", Phase::kPreCollective, "operand"}, own[rank],
                                   partial({64}, trace::MeshAxis::kDp)));
    results.push_back(
        builder.add({rank, "w", Phase::kPostCollective, "result"}, sum, copies({64})));
  }
  if (dp > 1) builder.collective("all_reduce", group, operands, results);
  for (int rank = 0; rank < dp; ++rank) {
    Values used = sum;
    if (rank == 1) edit(own[1], used);
    builder.add({rank, "w", Phase::kUnscaled, "grad"}, used, copies({64}));
  }
  return builder;
}

std::string signature_of_sum(const std::function<void(const Values&, Values&)>& edit) {
  const auto leave = [](const Values&, Values&) {};
  return signature_of(verdict_of(summed_gradient(2, edit), summed_gradient(1, leave), true));
}

TEST(Signatures, AfterEqualsBeforeThroughTheJobsOwnClip) {
  EXPECT_EQ(signature_of_sum([](const Values& own, Values& used) { used = times(own, 0.8); }),
            "after_equals_before");
  EXPECT_NE(signature_of_sum([](const Values&, Values& used) { used[3] += 5; }),
            "after_equals_before");
  EXPECT_NE(signature_of_sum([](const Values& own, Values& used) {
              used = plus(times(used, 0.5), times(own, 0.5));
            }),
            "after_equals_before");
}

}  // namespace
}  // namespace nanhunt::compare::test
