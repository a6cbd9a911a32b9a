// SPDX-License-Identifier: Apache-2.0
// Local replay of whole captured steps, without any reference: everything that a healthy step
// captured in full follows from its operands, in each layout and precision; a fault inside an op
// does not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/e2e/verdict_json.h"
#include "tests/support/scratch_folder.h"

namespace nanhunt::e2e {
namespace {

using testing::IsEmpty;
using Words = std::vector<std::string>;

Words full(const Words& settings) {
  Words words{"--level", "full", "--steps", "1"};
  for (const std::string& setting : settings) {
    words.push_back("--set");
    words.push_back(setting);
  }
  return words;
}

class HealthyStep : public testing::TestWithParam<Words> {};

TEST_P(HealthyStep, FollowsFromItsOperands) {
  const ScratchFolder work;
  const Hunted hunted = capture_and_scan("clean", work.path(), full(GetParam()));
  EXPECT_EQ(hunted.status, 0) << hunted.describe();
  EXPECT_GE(hunted.replayed, 300);
  EXPECT_THAT(hunted.not_replayed, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    Layouts, HealthyStep,
    testing::Values(
        Words{},
        Words{"parallel.tp=1", "parallel.dp=1", "layout.sp=off", "overlap.grad_reduce=off"},
        Words{"parallel.tp=4", "parallel.dp=1", "overlap.grad_reduce=off"}, Words{"layout.sp=off"},
        Words{"layout.batch_first=on"}, Words{"precision.fp8=on"}, Words{"precision.dtype=fp32"},
        Words{"model.dropout=0.2"}, Words{"model.dropout=0.5", "precision.fp8=on", "layout.sp=off"},
        Words{"precision.dtype=fp16", "precision.fp8=on", "layout.batch_first=on"},
        Words{"fusion.attention=off", "parallel.dp=1", "overlap.grad_reduce=off",
              "batch.microbatches=4", "fusion.grad_accumulation=off"}),
    [](const auto& one) { return "Number" + std::to_string(one.index); });

struct Planted {
  const char* name;
  const char* place;
};

class FaultInsideAnOp : public testing::TestWithParam<Planted> {};

TEST_P(FaultInsideAnOp, IsFoundWithoutAReference) {
  const ScratchFolder work;
  const Hunted hunted =
      capture_and_scan(GetParam().name, work.path(), {"--level", "full", "--seed", "1"});
  EXPECT_EQ(hunted.status, 1) << hunted.describe();
  EXPECT_EQ(hunted.rule, "local_replay") << hunted.describe();
  EXPECT_EQ(hunted.place(), GetParam().place);
}

TEST_P(FaultInsideAnOp, IsNotFoundWhereThereIsNone) {
  const ScratchFolder work;
  const Hunted hunted = capture_and_scan(GetParam().name, work.path(),
                                         {"--level", "full", "--seed", "1", "--healthy"});
  EXPECT_EQ(hunted.status, 0) << hunted.describe();
  EXPECT_GT(hunted.replayed, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, FaultInsideAnOp,
    testing::Values(
        Planted{"fp8_scale", "decoder.layers.2.mlp.linear_fc2 pre_collective output"},
        Planted{"fused_mask", "decoder.layers.3.self_attention.core_attention forward output"},
        Planted{"graded/one_element", "decoder.layers.1.self_attention.linear_proj forward output"},
        Planted{"graded/one_shard", "decoder.layers.0.mlp.linear_fc1 forward output"},
        Planted{"graded/two_rows", "decoder.layers.1.self_attention.linear_proj forward output"}),
    [](const auto& one) {
      std::string name = one.param.name;
      std::ranges::replace(name, '/', '_');
      return name;
    });

}  // namespace
}  // namespace nanhunt::e2e
