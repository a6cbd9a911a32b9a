// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "oracle/envelope.h"
#include "tests/oracle/step_builder.h"
#include "tests/support/scratch_folder.h"
#include "trace/segment.h"

namespace nanhunt::oracle::test {
namespace {

using trace::DType;
using trace::Phase;

const trace::NoiseRule& rule_of(const NoisePlan& plan) {
  static const trace::NoiseRule none{"", "", "", -1, -1, -1};
  const auto& noise = plan.perturbation.noise;
  const auto found = std::ranges::find(noise, std::string("output"), &trace::NoiseRule::role);
  return found == noise.end() ? none : *found;
}

double noise_of(const NoisePlan& plan) { return rule_of(plan).relative; }
double operand_noise_of(const NoisePlan& plan) { return rule_of(plan).operands; }

class NoisePlans : public testing::Test {
 protected:
  trace::TraceReader written(const std::string& name, StepBuilder& run) {
    const auto folder = folder_ / name;
    trace::Segment segment;
    segment.facts = run.facts().front();
    segment.records = run.step().records;
    segment.values.resize(segment.records.size());
    trace::write_segment(folder, segment);
    return trace::TraceReader(folder);
  }

  // A one-rank trace with one linear whose output is stored in `storage` by op `op`.
  trace::TraceReader trace_of(const std::string& name, DType storage, const std::string& op,
                              bool fp8, float rounding = 0) {
    StepBuilder run(mesh_facts(1, 1));
    const auto placement = trace::whole({"token", "channel"}, {4, 8});
    auto& output =
        run.add(0, Phase::kForward, "layers.0.fc", "output", normal_values(32, 1), placement);
    output.storage = storage;
    output.op = op;
    output.rounding = rounding;
    run.add(0, Phase::kForward, "layers.0.norm.weight", "param", normal_values(32, 1), placement);
    if (fp8) {
      run.add(0, Phase::kForward, "layers.0.fc", "input", normal_values(32, 2), placement).storage =
          DType::kFloat8E4M3;
    }
    return written(name, run);
  }

  // The same, with a record of phase `between` behind the linear's casts: its output links to it.
  trace::TraceReader trace_with_record_between(const std::string& name, Phase between) {
    StepBuilder run(mesh_facts(1, 1));
    const auto placement = trace::whole({"token", "channel"}, {4, 8});
    const auto values = normal_values(32, 1);
    run.add(0, between, "layers.0.other", "result", values, placement).rounding = 0.0884F;
    run.add(0, Phase::kForward, "layers.0.fc", "output", values, placement).links = {{0}};
    return written(name, run);
  }

  // One gradient that a loss times `loss_scale` left.
  trace::TraceReader trace_of_gradient(const std::string& name, DType storage, double loss_scale) {
    StepBuilder run(mesh_facts(1, 1));
    auto placement = trace::whole({"token", "channel"}, {4, 8});
    placement.mesh = {
        {trace::MeshAxis::kDp, trace::PlacementKind::kPartial, trace::ReduceOp::kSum, loss_scale}};
    run.add(0, Phase::kBackward, "layers.0.fc", "output", normal_values(32, 1), placement).storage =
        storage;
    return written(name, run);
  }

  const ScratchFolder folder_;
};

TEST_F(NoisePlans, TheCoarserTypeCounts) {
  const auto bf16 = trace_of("plan_bf16", DType::kBFloat16, "linear", false);
  const auto fp32 = trace_of("plan_fp32", DType::kFloat32, "linear", false);
  const auto both = noise_plan(fp32, bf16, 1), fine = noise_plan(fp32, fp32, 1);
  EXPECT_GE(noise_of(both), 0x1p-8);
  EXPECT_LT(noise_of(fine), 0x1p-20);
  EXPECT_NE(both.key, fine.key);
}

TEST_F(NoisePlans, QuantisedOperandsCountAsFp8) {
  const auto plain = trace_of("plan_plain", DType::kBFloat16, "linear", false);
  const auto quantised = trace_of("plan_fp8", DType::kBFloat16, "linear", true);
  EXPECT_NEAR(operand_noise_of(noise_plan(quantised, plain, 1)), std::sqrt(2.0) / 16, 1e-3);
  EXPECT_EQ(operand_noise_of(noise_plan(plain, plain, 1)), 0);
}

TEST_F(NoisePlans, RoundingsThatNoRecordShowsCount) {
  const auto plain = trace_of("plan_followed", DType::kBFloat16, "linear", false);
  const auto cast = trace_of("plan_cast", DType::kBFloat16, "linear", false, 0.0884F);
  EXPECT_NEAR(operand_noise_of(noise_plan(cast, cast, 1)), 0.0884, 1e-6);
  EXPECT_NEAR(operand_noise_of(noise_plan(cast, plain, 1)), 0.0884, 1e-6);
  const auto little = trace_of("plan_little", DType::kBFloat16, "linear", false, 0x1p-8F);
  EXPECT_EQ(noise_plan(little, plain, 1).key, noise_plan(plain, plain, 1).key);
  EXPECT_LT(noise_of(noise_plan(plain, plain, 1)), 0x1p-7);
}

// The other layout has no collective there: what came before it counts behind it.
TEST_F(NoisePlans, RoundingPassesThroughCollectives) {
  const auto reduced = trace_with_record_between("plan_reduced", Phase::kPostCollective);
  const auto recorded = trace_with_record_between("plan_recorded", Phase::kForward);
  EXPECT_NEAR(operand_noise_of(noise_plan(reduced, reduced, 1)), 0.0884, 1e-6);
  EXPECT_EQ(operand_noise_of(noise_plan(recorded, recorded, 1)), 0)
      << "the record in between shows it";
}

// FP16 rounds to multiples of 2^-24 below its normal range: half of that, where it is coarser.
TEST_F(NoisePlans, BelowTheNormalRangeItIsAbsolute) {
  const auto fp16 = trace_of("plan_fp16", DType::kFloat16, "linear", false);
  const auto bf16 = trace_of("plan_wide", DType::kBFloat16, "linear", false);
  EXPECT_EQ(rule_of(noise_plan(fp16, bf16, 1)).absolute, 0x1p-25);
  EXPECT_EQ(rule_of(noise_plan(bf16, fp16, 1)).absolute, 0x1p-25);
  EXPECT_EQ(rule_of(noise_plan(bf16, bf16, 1)).absolute, 0x1p-134);
}

TEST_F(NoisePlans, ALossScaleLiftsValuesAboveThat) {
  const auto plain = trace_of_gradient("plan_unscaled", DType::kBFloat16, 1);
  const auto scaled = trace_of_gradient("plan_scaled", DType::kFloat16, 1024);
  EXPECT_EQ(rule_of(noise_plan(scaled, plain, 1)).absolute, 0x1p-35);
  EXPECT_EQ(rule_of(noise_plan(scaled, scaled, 1)).absolute, 0x1p-25) << "of the scaled values";
}

TEST_F(NoisePlans, AnotherImplementationRoundsElsewhere) {
  const auto composed = trace_of("plan_composed", DType::kBFloat16, "composed_attention", false);
  const auto fused = trace_of("plan_fused", DType::kBFloat16, "fused_attention", false);
  EXPECT_GT(noise_of(noise_plan(fused, composed, 1)), noise_of(noise_plan(composed, composed, 1)));
}

TEST_F(NoisePlans, ParametersCarryNone) {
  const auto trace = trace_of("plan_param", DType::kBFloat16, "linear", false);
  for (const auto& rule : noise_plan(trace, trace, 1).perturbation.noise)
    EXPECT_NE(rule.role, "param");
}

}  // namespace
}  // namespace nanhunt::oracle::test
