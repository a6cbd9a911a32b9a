// SPDX-License-Identifier: Apache-2.0
// Rules files of checkpoints: what they say, their mistakes, and the shipped ones.
#include "checkpoint/rules_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/checkpoint/small_checkpoint.h"
#include "tests/support/scratch_folder.h"

namespace nanhunt::checkpoint {
namespace {

using testing::HasSubstr;

struct Mistake {
  std::string name, text, message;
};
class Mistakes : public testing::TestWithParam<Mistake> {};

TEST_P(Mistakes, AreNamedWithTheirPlace) {
  const ScratchFolder folder;
  test::write_text(folder / "r.json", GetParam().text);
  EXPECT_THAT(
      test::error_text([&] { read_rules_file(folder / "r.json"); }, trace::ErrorKind::kUsage),
      testing::AllOf(testing::StartsWith("rules file "), HasSubstr("r.json"),
                     HasSubstr(GetParam().message)));
}

INSTANTIATE_TEST_SUITE_P(
    Table, Mistakes,
    testing::Values(
        Mistake{"json", "{", "no valid JSON at byte"},
        Mistake{"top", "[]", "at the top: must be an object"},
        Mistake{"key", R"({"replicate": []})", "unknown key \"replicate\""},
        Mistake{"list", R"({"replicated": "a"})", "at /replicated: must be a list"},
        Mistake{"text", R"({"replicated": ["a", 1]})", "at /replicated/1: must be text"},
        Mistake{"regex", R"json({"separate": "("})json", "at /separate: no regular"},
        Mistake{"pair", R"({"tied": [["a"]]})", "at /tied/0: must be two names"},
        Mistake{"rule", R"({"accept": {"al_zero": []}})", "at /accept: no rule \"al_zero\""}),
    [](const auto& one) { return one.param.name; });

TEST(RulesFile, SaysWhatIsInIt) {
  const ScratchFolder folder;
  test::write_text(folder / "r.json", R"json({"replicated": ["**.norm.weight"],
      "separate": "rank_[0-9]+(_[0-9]+)?", "tied": [["a", "b"]],
      "accept": {"frozen": ["vision.**"]}})json");
  const RulesFile rules = read_rules_file(folder / "r.json");
  EXPECT_EQ(rules.name, "r");
  EXPECT_TRUE(rules.is_replicated("layers.1.norm.weight"));
  EXPECT_FALSE(rules.is_replicated("layers.1.norm.bias"));
  EXPECT_TRUE(rules.accepts("frozen", "vision.blocks.1.weight"));
  EXPECT_FALSE(rules.accepts("frozen", "text.weight"));
  EXPECT_FALSE(rules.accepts("all_zero", "vision.blocks.1.weight"));
  EXPECT_EQ(rules.part_of("rank_03_1.x"), rules.part_of("rank_04_1.x"));
  EXPECT_NE(rules.part_of("rank_03_1.x"), rules.part_of("rank_03_2.x"));
  EXPECT_EQ(rules.part_of("model.x"), std::nullopt);
  EXPECT_EQ(RulesFile().part_of("model.x"), "");
}

TEST(ShippedRules, KnowTheCopiesOfATensorParallelModel) {
  const std::string folder = std::string(NANHUNT_SOURCE_DIR) + "/share/nanhunt/checkpoints/";
  const RulesFile megatron = read_rules_file(folder + "megatron_tp.json");
  const RulesFile hf = read_rules_file(folder + "hf_tp.json");
  EXPECT_TRUE(megatron.is_replicated("decoder.layers.3.self_attention.linear_proj.bias"));
  EXPECT_TRUE(megatron.is_replicated("decoder.layers.3.mlp.linear_fc1.layer_norm_weight"));
  EXPECT_TRUE(megatron.is_replicated("decoder.final_layernorm.weight"));
  EXPECT_FALSE(megatron.is_replicated("decoder.layers.3.mlp.linear_fc1.weight"));
  EXPECT_FALSE(megatron.is_replicated("decoder.layers.3.mlp.linear_fc1.bias"));
  EXPECT_TRUE(hf.is_replicated("model.layers.3.input_layernorm.weight"));
  EXPECT_TRUE(hf.is_replicated("model.layers.3.self_attn.o_proj.bias"));
  EXPECT_TRUE(hf.is_replicated("model.norm.weight"));
  EXPECT_FALSE(hf.is_replicated("model.layers.3.self_attn.q_proj.bias"));
  EXPECT_FALSE(hf.is_replicated("model.layers.3.self_attn.q_norm.weight")) << "cut in some models";
  // Stages count their layers from 0 each; names that do not tell the stage are held against none.
  EXPECT_EQ(megatron.part_of("mp_rank_00_001/model.safetensors"),
            megatron.part_of("mp_rank_01_001/model.safetensors"));
  EXPECT_NE(megatron.part_of("mp_rank_00_000/model.safetensors"),
            megatron.part_of("mp_rank_00_001/model.safetensors"));
  EXPECT_EQ(megatron.part_of("rank-0.safetensors"), std::nullopt);
}

}  // namespace
}  // namespace nanhunt::checkpoint
