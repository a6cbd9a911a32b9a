// SPDX-License-Identifier: Apache-2.0
// The bundled mini-Megatron at TP1 against the plain GPT, which shares no code with it: two
// independent programs agree, and what is wrong in code that all of mini's layouts share is found
// by their distance.
#include <gtest/gtest.h>

#include "tests/e2e/verdict_json.h"

namespace nanhunt::e2e {
namespace {

fs::path shared_code(const std::string& name) {
  return cases_folder() / "shared_code" / (name + ".case");
}

struct Healthy {
  std::string name, dtype;
  std::vector<std::string> parameters;
};

class Agreement : public testing::TestWithParam<Healthy> {};

TEST_P(Agreement, HasNoFinding) {
  const std::string dtype = "precision.dtype=" + GetParam().dtype;
  std::vector<std::string> words = {"--set", dtype, "--set-reference", dtype};
  for (const std::string& parameter : GetParam().parameters) {
    words.push_back("--set");
    words.push_back(parameter);
  }
  const Hunted hunted = hunt(shared_code("healthy"), words);
  EXPECT_EQ(hunted.status, 0) << hunted.describe();
  EXPECT_EQ(hunted.kind, "clean");
  EXPECT_GT(hunted.records_compared, 200);
  EXPECT_EQ(hunted.sites_fired, hunted.sites_expected);
}

const std::vector<std::string> kRich = {"model.positions=learned", "model.qkv_bias=on",
                                        "batch.ragged=on"};
INSTANTIATE_TEST_SUITE_P(Models, Agreement,
                         testing::Values(Healthy{"bf16", "bf16", {}}, Healthy{"fp32", "fp32", {}},
                                         Healthy{"bf16_rich", "bf16", kRich},
                                         Healthy{"fp32_rich", "fp32", kRich},
                                         Healthy{"bf16_ragged", "bf16", {"batch.ragged=on"}}),
                         [](const auto& one) { return one.param.name; });

struct Planted {
  std::string name, place;
};

class SharedCode : public testing::TestWithParam<Planted> {};

TEST_P(SharedCode, IsFoundWhereItIsWrong) {
  const Hunted hunted = hunt(shared_code(GetParam().name), {});
  EXPECT_EQ(hunted.status, 1) << hunted.describe();
  EXPECT_EQ(hunted.place(), GetParam().place) << hunted.describe();
}

INSTANTIATE_TEST_SUITE_P(
    Faults, SharedCode,
    testing::Values(Planted{"gelu_tanh", "decoder.layers.0.mlp.activation_func forward output"},
                    Planted{"softmax_scale",
                            "decoder.layers.0.self_attention.core_attention forward output"},
                    Planted{"loss_denominator", "loss loss loss"}),
    [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace nanhunt::e2e
