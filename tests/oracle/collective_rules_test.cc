// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/oracle/step_builder.h"

namespace nanhunt::oracle::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using trace::DType;
using trace::MeshAxis;
using trace::Phase;
using trace::PlacementKind;

const std::vector<int64_t> kShape{8, 64};
const trace::Placement kWhole = trace::whole({"token", "channel"}, kShape);
const trace::Placement kPartial = with(kWhole, MeshAxis::kTp, PlacementKind::kPartial);

// An all-reduce of `ranks` operands; `wrong` gets its own operand back. With bf16 operands, result
// and accumulation are rounded in rank order.
std::vector<Finding> all_reduce(int ranks, int wrong, bool bf16, float nudge = 0) {
  StepBuilder run(mesh_facts(ranks, 1));
  std::vector<std::vector<float>> operands;
  std::vector<float> sum(512, 0.0f);
  for (int rank = 0; rank < ranks; ++rank) {
    operands.push_back(normal_values(512, static_cast<uint64_t>(rank) + 1));
    for (size_t i = 0; i < sum.size(); ++i) {
      if (bf16) operands.back()[i] = to_bf16(operands.back()[i]);
      sum[i] = bf16 ? to_bf16(sum[i] + operands.back()[i]) : sum[i] + operands.back()[i];
    }
  }
  sum[3] += nudge;
  const auto type = bf16 ? DType::kBFloat16 : DType::kFloat32;
  for (int rank = 0; rank < ranks; ++rank) {
    const auto r = static_cast<size_t>(rank);
    run.add(rank, Phase::kPreCollective, "a", "output", operands[r], kPartial).storage = type;
    run.add(rank, Phase::kPostCollective, "a", "output", rank == wrong ? operands[r] : sum, kWhole)
        .storage = type;
  }
  std::vector<int> group;
  for (int rank = 0; rank < ranks; ++rank) group.push_back(rank);
  run.collective("all_reduce", group, std::vector<int64_t>(group.size(), 0),
                 std::vector<int64_t>(group.size(), 1), type);
  return findings_of("collective_residual", run, run.step());
}

TEST(CollectiveResidual, HealthySumsPass) {
  EXPECT_THAT(all_reduce(2, -1, false), IsEmpty());
  EXPECT_THAT(all_reduce(4, -1, false), IsEmpty());
  EXPECT_THAT(all_reduce(2, -1, true), IsEmpty());
  EXPECT_THAT(all_reduce(4, -1, true), IsEmpty());
}

TEST(CollectiveResidual, TheRankThatKeptItsOperandIsNamed) {
  for (const bool bf16 : {false, true}) {
    const auto findings = all_reduce(4, 2, bf16);
    ASSERT_THAT(findings, SizeIs(1));
    EXPECT_THAT(findings[0].ranks, ElementsAre(2));
    EXPECT_EQ(findings[0].decider, Decider::kRecomputation);
  }
}

TEST(CollectiveResidual, OneWrongElementIsFoundOnEveryRank) {
  EXPECT_THAT(all_reduce(2, -1, false, 0.01f), SizeIs(2));
}

std::vector<Finding> reduce_scatter(float factor) {
  StepBuilder run(mesh_facts(2, 1));
  const auto a = normal_values(512, 1), b = normal_values(512, 2);
  std::vector<float> sum(512);
  for (size_t i = 0; i < 512; ++i) sum[i] = (a[i] + b[i]) * factor;
  run.add(0, Phase::kPreCollective, "a", "output", a, kPartial);
  run.add(1, Phase::kPreCollective, "a", "output", b, kPartial);
  run.add(0, Phase::kPostCollective, "a", "output", {sum.begin(), sum.begin() + 256},
          slice(kShape, 0, 0, 2));
  run.add(1, Phase::kPostCollective, "a", "output", {sum.begin() + 256, sum.end()},
          slice(kShape, 0, 1, 2));
  run.collective("reduce_scatter", {0, 1}, {0, 0}, {1, 1});
  return findings_of("collective_residual", run, run.step());
}

TEST(CollectiveResidual, ReduceScatterIsCheckedAsAWhole) {
  EXPECT_THAT(reduce_scatter(1), IsEmpty());
  EXPECT_THAT(reduce_scatter(0.5), SizeIs(1));
}

// TP 2 x DP 2: a tensor-parallel reduction over these ranks.
std::vector<Finding> reduced_over(const std::vector<int>& group) {
  StepBuilder run(mesh_facts(2, 2));
  for (int rank = 0; rank < 4; ++rank) {
    run.add(rank, Phase::kPreCollective, "a", "output", normal_values(512, 1), kPartial);
    run.add(rank, Phase::kPostCollective, "a", "output", normal_values(512, 2), kWhole);
  }
  run.collective("all_reduce", group, std::vector<int64_t>(group.size(), 0),
                 std::vector<int64_t>(group.size(), 1));
  return findings_of("collective_group", run, run.step());
}

TEST(CollectiveGroup, TheTensorParallelGroupPasses) {
  EXPECT_THAT(reduced_over({0, 1}), IsEmpty());
  EXPECT_THAT(reduced_over({2, 3}), IsEmpty());
}

TEST(CollectiveGroup, TheWorldInItsPlaceIsFoundOnEveryRank) {
  const auto findings = reduced_over({0, 1, 2, 3});
  ASSERT_THAT(findings, SizeIs(4));
  EXPECT_THAT(findings[0].evidence, testing::HasSubstr("placement names tp: ranks 0 1"));
}

// An all-reduce by addition of what the operand's placement calls partial by `meant`.
std::vector<Finding> summed_where(trace::ReduceOp meant, const trace::Placement& after = kWhole) {
  StepBuilder run(mesh_facts(2, 1));
  trace::Placement before = kPartial;
  before.mesh.back().op = meant;
  for (int rank = 0; rank < 2; ++rank) {
    run.add(rank, Phase::kPreCollective, "a", "output", normal_values(512, 1), before);
    run.add(rank, Phase::kPostCollective, "a", "output", normal_values(512, 2), after);
  }
  run.collective("all_reduce", {0, 1}, {0, 0}, {1, 1});
  return findings_of("collective_op", run, run.step());
}

TEST(CollectiveOp, TheSumOfAPartialSumPasses) {
  EXPECT_THAT(summed_where(trace::ReduceOp::kSum), IsEmpty());
}

TEST(CollectiveOp, TheSumOfAPartialMaximumIsFoundOnEveryRank) {
  const auto findings = summed_where(trace::ReduceOp::kMax);
  ASSERT_THAT(findings, SizeIs(2));
  EXPECT_THAT(findings[0].evidence, testing::HasSubstr("names max"));
}

TEST(CollectiveOp, WhatStaysPartialIsNotJudged) {
  trace::Placement still = kPartial;
  still.mesh.back().op = trace::ReduceOp::kMax;
  EXPECT_THAT(summed_where(trace::ReduceOp::kMax, still), IsEmpty());
}

// An all-reduce of two operands of 512 elements of that size; one element of the result is Inf.
std::string evidence_of_inf(float size) {
  StepBuilder run(mesh_facts(2, 1));
  std::vector<float> sum(512, 2 * size);
  sum[3] = std::numeric_limits<float>::infinity();
  for (int rank = 0; rank < 2; ++rank) {
    run.add(rank, Phase::kPreCollective, "a", "output", std::vector<float>(512, size), kPartial)
        .storage = DType::kFloat16;
    run.add(rank, Phase::kPostCollective, "a", "output", sum, kWhole).storage = DType::kFloat16;
  }
  run.collective("all_reduce", {0, 1}, {0, 0}, {1, 1});
  const auto findings = findings_of("collective_residual", run, run.step());
  return findings.empty() ? "" : findings.front().evidence;
}

TEST(CollectiveResidual, OverflowIsSaidWhereTheOperandsCanAddUpToIt) {
  EXPECT_THAT(evidence_of_inf(40000), testing::HasSubstr("overflow in the reduction"));
  EXPECT_THAT(evidence_of_inf(2), testing::HasSubstr("no partial sum can be above 4"));
}

std::vector<Finding> all_gather(bool swapped) {
  StepBuilder run(mesh_facts(2, 1));
  const auto values = normal_values(512, 1);
  const std::vector<float> low(values.begin(), values.begin() + 256),
      high(values.begin() + 256, values.end());
  std::vector<float> other = high;
  other.insert(other.end(), low.begin(), low.end());
  run.add(0, Phase::kPreCollective, "a", "input", low, slice(kShape, 0, 0, 2));
  run.add(1, Phase::kPreCollective, "a", "input", high, slice(kShape, 0, 1, 2));
  run.add(0, Phase::kPostCollective, "a", "input", values, kWhole);
  run.add(1, Phase::kPostCollective, "a", "input", swapped ? other : values, kWhole);
  run.collective("all_gather", {0, 1}, {0, 0}, {1, 1});
  return findings_of("gathered_equals_pieces", run, run.step());
}

TEST(GatheredEqualsPieces, InOrderPasses) {
  EXPECT_THAT(all_gather(false), IsEmpty());
}

TEST(GatheredEqualsPieces, SwappedPiecesNameTheRank) {
  const auto findings = all_gather(true);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].ranks, ElementsAre(1));
}

}  // namespace
}  // namespace nanhunt::oracle::test
