// SPDX-License-Identifier: Apache-2.0
// In FP32 every layout computes what TP1 computes, to rounding; a planted fault is seen.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cases/mini_run.h"
#include "tests/support/scratch_folder.h"

namespace nanhunt::mini {
namespace {

using testing::Contains;
using testing::Not;

constexpr char kShape[] =
    " --steps 1 --dtype fp32 --layers 2 --ragged on --qkv-bias on "
    "--positions learned";
// Sums of up to 256 products in other orders, through two layers and back.
constexpr double kTolerance = 5e-5;

LogicalTensors captured(const MiniRun& run) {
  const ScratchFolder folder;
  const MiniResult result = run_mini(run, folder.path());
  EXPECT_EQ(result.status, 0) << result.output;
  return logical_tensors(trace::TraceReader(folder.path()), 0);
}

const LogicalTensors& reference() {
  static const LogicalTensors tensors = captured({kShape});
  return tensors;
}

class Layout : public testing::TestWithParam<const char*> {};

TEST_P(Layout, ComputesWhatOneRankComputes) {
  EXPECT_GT(reference().size(), 100u);
  const LogicalTensors tensors = captured({std::string(GetParam()) + kShape});
  EXPECT_EQ(describe(differing_places(reference(), tensors, kTolerance)), "");
}

INSTANTIATE_TEST_SUITE_P(
    All, Layout,
    testing::Values("--tp 2", "--tp 4 --reduce-order tree", "--tp 2 --sp on", "--tp 4 --sp on",
                    "--dp 2", "--dp 2 --overlap-grad-reduce on", "--microbatches 4",
                    "--tp 2 --sp on --dp 2 --microbatches 2 --reduce-order ring",
                    "--tp 2 --sp on --batch-first on", "--tp 2 --batch-first on",
                    "--fused-attention on --fused-adamw on"));

TEST(LayoutTwin, ScaledShardIsSeenFromItsSiteOn) {
  const LogicalTensors tensors = captured(
      {std::string("--tp 2") + kShape, R"({"name": "shard_scaled", "layer": 1, "rank": 1})"});
  const auto places = differing_places(reference(), tensors, kTolerance);
  const auto output = [](const std::string& site) {
    return Place{site, trace::Phase::kForward, "output"};
  };
  EXPECT_THAT(places, Contains(output("decoder.layers.1.mlp.linear_fc1")));
  EXPECT_THAT(places, Not(Contains(output("decoder.layers.1.pre_mlp_layernorm"))));
  EXPECT_THAT(places, Not(Contains(output("decoder.layers.0.mlp.linear_fc1"))));
}

TEST(LayoutTwin, MissingTensorParallelSumIsSeenInTheNormWeights) {
  const LogicalTensors tensors =
      captured({std::string("--tp 2 --sp on") + kShape, R"({"name": "norm_grad_not_summed"})"});
  const auto places = differing_places(reference(), tensors, kTolerance);
  EXPECT_THAT(places,
              Contains(Place{"decoder.final_layernorm.weight", trace::Phase::kUnscaled, "grad"}));
  for (const auto& [site, phase, role] : places) {
    EXPECT_TRUE(phase == trace::Phase::kUnscaled || phase == trace::Phase::kClipped) << site;
    if (phase == trace::Phase::kUnscaled) {
      EXPECT_THAT(site, testing::EndsWith("layernorm.weight"));
    }
  }
}

}  // namespace
}  // namespace nanhunt::mini
