// SPDX-License-Identifier: Apache-2.0
// Signatures: each recognises its shape of wrongness and refuses a twin that is wrong in another
// way.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "compare/judge_sources.h"
#include "compare/signatures/signature.h"
#include "tests/compare/small_model.h"

namespace nanhunt::compare::test {
namespace {

using testing::HasSubstr;
using trace::Phase;

constexpr double kHealthy = 1e-3;

bool at(const Tap& tap, const std::string& site, Phase phase = Phase::kForward,
        const std::string& role = "output") {
  return tap.site == site && tap.phase == phase && tap.role == role;
}

// The verdict of a comparison with a healthy reference; with values when they go through files.
Verdict verdict_of(const TraceBuilder& candidate, const TraceBuilder& reference, bool values,
                   double healthy = kHealthy) {
  const auto envelope = envelope_around(reference.source(), healthy);
  JudgeOptions options;
  options.envelope = &envelope;
  if (!values) {
    const auto mine = candidate.source("candidate"), other = reference.source("reference");
    return judge_sources(mine, &other, thresholds(), options);
  }
  const TemporaryFolder folder;
  candidate.write(folder.path() / "candidate");
  reference.write(folder.path() / "reference");
  const trace::TraceReader mine(folder.path() / "candidate"), other(folder.path() / "reference");
  return compare_traces(mine, other, thresholds(), options);
}

Verdict verdict_of(const Edit& edit, bool values = false, int tp = 2) {
  SmallModel model{.tp = tp, .noise = kHealthy};
  model.edit = edit;
  return verdict_of(build(model), build({}), values);
}

std::string signature_of(const Verdict& verdict) {
  return verdict.origins.empty() ? "no origin" : verdict.origins.front().signature;
}

TEST(Signatures, ConstantRatio) {
  const Verdict verdict = verdict_of([](const Tap& tap, Values& values) {
    if (at(tap, "norm")) values = times(values, 2);
  });
  EXPECT_EQ(signature_of(verdict), "constant_ratio") << to_text(verdict);
  EXPECT_THAT(verdict.origins.front().signature_detail, HasSubstr("the size of tp"));
}

TEST(Signatures, ConstantRatioRefusesOtherDeviations) {
  const Verdict verdict = verdict_of([](const Tap& tap, Values& values) {
    if (at(tap, "norm")) values = plus(values, normal_values(values.size(), 99));
  });
  EXPECT_EQ(signature_of(verdict), "") << to_text(verdict);
}

// The second step: an update has moved the bias, more than the product may deviate, and the product
// comes out `ratio` times, with `further` noise of its own.
Verdict scaled_under_moved_bias(double ratio, double further) {
  constexpr double kNoise = 0.07;
  SmallModel model{.tp = 2, .steps = 2, .noise = kNoise};
  model.edit = [=](const Tap& tap, Values& values) {
    if (tap.step == 0) return;
    const auto seed = std::hash<std::string>()("fc2.bias") + static_cast<uint64_t>(tap.step);
    const Values bias = normal_values(kChannels, seed, 0.5);
    const Values moved = plus(bias, normal_values(kChannels, 77, 0.3));
    if (at(tap, "fc2.bias", Phase::kForward, "param")) values = moved;
    if (!at(tap, "fc2")) return;
    const Values noise = normal_values(values.size(), 78, further);
    for (size_t i = 0; i < values.size(); ++i) {
      const auto product = static_cast<double>(values[i] - bias[i % kChannels]);
      values[i] = static_cast<float>(ratio * product + noise[i] + moved[i % kChannels]);
    }
  };
  return verdict_of(build(model), build({.steps = 2}), true, kNoise);
}

std::string signature_at(const std::string& site, const Verdict& verdict) {
  for (const auto& origin : verdict.origins) {
    if (origin.finding.what.site == site) return origin.signature;
  }
  return "no origin";
}

TEST(Signatures, ConstantRatioUnderABiasThatMoved) {
  const Verdict verdict = scaled_under_moved_bias(4.0 / 3, 0);
  EXPECT_EQ(signature_at("fc2", verdict), "constant_ratio") << to_text(verdict);
}

TEST(Signatures, ConstantRatioUnderABiasRefusesNoise) {
  EXPECT_EQ(signature_at("fc2", scaled_under_moved_bias(1, 0.5)), "");
  EXPECT_EQ(signature_at("fc2", scaled_under_moved_bias(4.0 / 3, 0.5)), "");
}

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

// Attention output of 2 samples x 4 tokens; the mask shuts one row, another row is NaN.
TraceBuilder attention_trace(int tp, int shut_row, int nan_row) {
  TraceBuilder builder(tp);
  for (int rank = 0; rank < tp; ++rank) {
    Values mask(2 * 4 * 4, 0);
    for (int key = 0; key < 4 && shut_row >= 0; ++key)
      mask[static_cast<size_t>(shut_row * 4 + key)] = 1;
    Tap tap{rank, "core_attention", Phase::kForward, "mask"};
    tap.storage = trace::DType::kBool;
    tap.attributes = R"({"true":"masked"})";
    builder.add(tap, mask, copies({2, 4, 4}));
    const Values whole = normal_values(2 * 4 * 8, 5);
    Values output = columns(whole, 8, rank * 8 / tp, 8 / tp);
    for (int c = 0; c < 8 / tp && nan_row >= 0; ++c)
      output[static_cast<size_t>(nan_row * 8 / tp + c)] = NAN;
    builder.add({rank, "core_attention", Phase::kForward, "output", {0}}, output,
                slice({2, 4, 8}, 2, rank, tp));
  }
  return builder;
}

TEST(Signatures, MaskedRow) {
  const Verdict verdict = verdict_of(attention_trace(2, 5, 5), attention_trace(1, 5, -1), true);
  EXPECT_EQ(verdict.kind, VerdictKind::kNonFinite);
  EXPECT_EQ(signature_of(verdict), "masked_row") << to_text(verdict);
  EXPECT_THAT(verdict.origins.front().finding.ranks, testing::ElementsAre(0, 1));
}

TEST(Signatures, MaskedRowRefusesOtherRowsAndSketches) {
  EXPECT_NE(signature_of(verdict_of(attention_trace(2, 5, 2), attention_trace(1, 5, -1), true)),
            "masked_row");
  EXPECT_NE(signature_of(verdict_of(attention_trace(2, 5, 5), attention_trace(1, 5, -1), false)),
            "masked_row");
}

// y = x w^T in FP16; one weight row is large, or the Inf is planted into a harmless product.
TraceBuilder product_trace(double row_scale, bool planted) {
  TraceBuilder builder;
  const Values input = normal_values(6 * 8, 1);
  Values weight = normal_values(4 * 8, 2);
  for (int k = 0; k < 8; ++k) weight[static_cast<size_t>(8 + k)] *= static_cast<float>(row_scale);
  Values output(6 * 4);
  for (size_t r = 0; r < 6; ++r) {
    for (size_t n = 0; n < 4; ++n) {
      double sum = 0;
      for (size_t k = 0; k < 8; ++k) sum += double{input[r * 8 + k]} * weight[n * 8 + k];
      output[r * 4 + n] = static_cast<float>(sum);
    }
  }
  if (planted) output[5] = INFINITY;
  Tap tap{0, "fc.weight", Phase::kForward, "param"};
  tap.storage = trace::DType::kFloat16;
  builder.add(tap, weight, copies({4, 8}));
  tap.site = "norm";
  tap.role = "output";
  builder.add(tap, input, copies({6, 8}));
  tap.site = "fc";
  tap.op = "linear";
  tap.links = {0, 1};
  builder.add(tap, output, copies({6, 4}));
  return builder;
}

Verdict scan_with_values(const TraceBuilder& builder) {
  const TemporaryFolder folder;
  builder.write(folder.path() / "trace");
  return scan(trace::TraceReader(folder.path() / "trace"), thresholds());
}

TEST(Signatures, OverflowInProduct) {
  const Verdict verdict = scan_with_values(product_trace(60000, false));
  EXPECT_EQ(signature_of(verdict), "overflow_in_product") << to_text(verdict);
}

TEST(Signatures, OverflowInProductRefusesAnInfOfASmallProduct) {
  const Verdict verdict = scan_with_values(product_trace(1, true));
  ASSERT_EQ(verdict.kind, VerdictKind::kNonFinite);
  EXPECT_EQ(signature_of(verdict), "") << to_text(verdict);
}

Edit tokens_wrong(int64_t first) {
  return [=](const Tap& tap, Values& values) {
    if (!at(tap, "norm")) return;
    const Values other = normal_values(values.size(), 77);
    for (size_t i = 0; i < values.size(); ++i) {
      const auto token = static_cast<int64_t>(i) / kChannels % kTokens;
      if (token >= first) values[i] = other[i];
    }
  };
}

TEST(Signatures, OnlyLatePositions) {
  const Verdict verdict = verdict_of(tokens_wrong(6), true);
  EXPECT_EQ(signature_of(verdict), "only_late_positions") << to_text(verdict);
}

TEST(Signatures, OnlyLatePositionsRefusesEarlyOnes) {
  EXPECT_EQ(signature_of(verdict_of(tokens_wrong(1), true)), "");
  EXPECT_EQ(signature_of(verdict_of(tokens_wrong(6), false)), "") << "sketches have no positions";
}

TEST(Signatures, OneRank) {
  const Verdict one = verdict_of(
      [](const Tap& tap, Values& values) {
        if (at(tap, "fc1") && tap.rank == 1) values = plus(values, normal_values(values.size(), 3));
      },
      true);
  EXPECT_EQ(signature_of(one), "one_rank") << to_text(one);
  const Verdict both = verdict_of(
      [](const Tap& tap, Values& values) {
        if (at(tap, "fc1")) values = plus(values, normal_values(values.size(), 3));
      },
      true);
  EXPECT_EQ(signature_of(both), "") << to_text(both);
}

}  // namespace
}  // namespace nanhunt::compare::test
