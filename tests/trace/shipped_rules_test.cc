// SPDX-License-Identifier: Apache-2.0
// The rules files that are installed: each pair leads there and back, and leaves alone what is cut
// or ordered in another way in the other program.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "trace/rules_file.h"

namespace nanhunt::trace {
namespace {

std::string renamed(const std::string& file, const std::string& site) {
  const auto rules =
      read_rules_file(std::string(NANHUNT_SOURCE_DIR) + "/share/nanhunt/rules/" + file + ".json");
  Step step;
  step.records.resize(1);
  step.records[0].what.site = site;
  apply_rules(rules, step);
  return step.records[0].what.site;
}

using Pairs = std::vector<std::pair<std::string, std::string>>;

void expect_both_ways(const std::string& other, const Pairs& pairs) {
  for (const auto& [theirs, hf] : pairs) {
    EXPECT_EQ(renamed(other + "_to_hf", theirs), hf);
    EXPECT_EQ(renamed("hf_to_" + other, hf), theirs);
  }
}

TEST(ShippedRules, Torchtitan) {
  expect_both_ways("torchtitan",
                   {{"tok_embeddings.weight", "model.embed_tokens.weight"},
                    {"layers.3.attention_norm", "model.layers.3.input_layernorm"},
                    {"layers.3.attention.wo.weight", "model.layers.3.self_attn.o_proj.weight"},
                    {"layers.3.attention", "model.layers.3.self_attn"},
                    {"layers.3.ffn_norm.weight", "model.layers.3.post_attention_layernorm.weight"},
                    {"layers.3.feed_forward.w1", "model.layers.3.mlp.gate_proj"},
                    {"layers.3.feed_forward.w2", "model.layers.3.mlp.down_proj"},
                    {"layers.3.feed_forward.w3.weight", "model.layers.3.mlp.up_proj.weight"},
                    {"layers.3", "model.layers.3"},
                    {"norm", "model.norm"},
                    {"output.weight", "lm_head.weight"}});
  // Channels of q and k lie in another order within each head.
  EXPECT_EQ(renamed("torchtitan_to_hf", "layers.3.attention.wq"), "layers.3.attention.wq");
  EXPECT_EQ(renamed("hf_to_torchtitan", "model.layers.3.self_attn.k_proj"),
            "model.layers.3.self_attn.k_proj");
}

TEST(ShippedRules, Megatron) {
  expect_both_ways(
      "megatron",
      {{"embedding.word_embeddings.weight", "model.embed_tokens.weight"},
       {"decoder.layers.11.input_layernorm.weight", "model.layers.11.input_layernorm.weight"},
       {"decoder.layers.11.self_attention.linear_proj", "model.layers.11.self_attn.o_proj"},
       {"decoder.layers.11.pre_mlp_layernorm", "model.layers.11.post_attention_layernorm"},
       {"decoder.layers.11.mlp.linear_fc2.weight", "model.layers.11.mlp.down_proj.weight"},
       {"decoder.layers.11.mlp", "model.layers.11.mlp"},
       {"decoder.layers.11", "model.layers.11"},
       {"decoder.final_layernorm.weight", "model.norm.weight"},
       {"output_layer.weight", "lm_head.weight"}});
  // One fused tensor against three, and against two: how it is cut depends on heads and sizes.
  EXPECT_EQ(renamed("megatron_to_hf", "decoder.layers.1.self_attention.linear_qkv"),
            "decoder.layers.1.self_attention.linear_qkv");
  EXPECT_EQ(renamed("megatron_to_hf", "decoder.layers.1.mlp.linear_fc1"),
            "decoder.layers.1.mlp.linear_fc1");
}

}  // namespace
}  // namespace nanhunt::trace
