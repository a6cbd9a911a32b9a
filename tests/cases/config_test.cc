// SPDX-License-Identifier: Apache-2.0
#include "cases/mini/config.h"

#include <gtest/gtest.h>

#include "trace/error.h"

namespace nanhunt::mini {
namespace {

std::string refusal(const std::vector<std::string>& arguments) {
  try {
    parse_config(arguments);
  } catch (const trace::Error& error) {
    return error.kind() == trace::ErrorKind::kUsage ? error.what() : "wrong kind";
  }
  return "";
}

TEST(Config, ReadsEveryToggle) {
  const Config config = parse_config({"--tp=2",
                                      "--dp",
                                      "2",
                                      "--sp=on",
                                      "--batch-first=on",
                                      "--dtype=fp16",
                                      "--fp8=on",
                                      "--fused-attention=on",
                                      "--fused-adamw=on",
                                      "--fused-grad-accumulation=on",
                                      "--overlap-grad-reduce=on",
                                      "--reduce-order=tree",
                                      "--reduce-accumulate=storage",
                                      "--microbatches=2",
                                      "--ranks=processes",
                                      "--positions=learned",
                                      "--qkv-bias=on",
                                      "--ragged=on",
                                      "--seed=7",
                                      "--steps=5",
                                      "--text=a.txt"});
  EXPECT_EQ(config.world_size(), 4);
  EXPECT_TRUE(config.sequence_parallel && config.batch_first && config.fp8);
  EXPECT_TRUE(config.fused_attention && config.fused_adamw && config.fused_grad_accumulation);
  EXPECT_TRUE(config.overlap_grad_reduce && config.accumulate_in_storage && config.processes);
  EXPECT_TRUE(config.learned_positions && config.qkv_bias && config.ragged);
  EXPECT_EQ(config.dtype, trace::DType::kFloat16);
  EXPECT_EQ(config.reduce_order, ReduceOrder::kTree);
  EXPECT_EQ(config.microbatches, 2);
  EXPECT_EQ(config.seed, 7u);
  EXPECT_EQ(config.steps, 5);
  EXPECT_EQ(config.text, "a.txt");
}

TEST(Config, DefaultsAreTheReferenceValues) {
  const Config config = parse_config({});
  EXPECT_EQ(config.world_size(), 1);
  EXPECT_FALSE(config.sequence_parallel || config.fp8 || config.processes);
  EXPECT_EQ(config.dtype, trace::DType::kBFloat16);
  EXPECT_EQ(config.reduce_order, ReduceOrder::kRank);
  EXPECT_TRUE(config.text.ends_with("/data/kjv.txt"));
}

TEST(Config, SequenceParallelismNeedsTensorParallelism) {
  EXPECT_FALSE(parse_config({"--sp=on"}).sequence_parallel);
  EXPECT_TRUE(parse_config({"--sp=on", "--tp=2"}).sequence_parallel);
}

TEST(Config, LayoutsThatDoNotDivideAreNamed) {
  EXPECT_EQ(refusal({"--tp=3"}), "heads 4 is not divisible by tp 3");
  EXPECT_EQ(refusal({"--tp=3", "--heads=6", "--hidden=96"}), "ffn 256 is not divisible by tp 3");
  EXPECT_EQ(refusal({"--tp=3", "--heads=6", "--hidden=96", "--ffn=384"}),
            "vocabulary 256 is not divisible by tp 3");
  EXPECT_EQ(refusal({"--tp=4", "--sp=on", "--sequence=30"}),
            "sequence 30 is not divisible by tp 4");
  EXPECT_EQ(refusal({"--tp=4", "--sequence=30"}), "");
  EXPECT_EQ(refusal({"--dp=2", "--microbatches=4"}),
            "global-batch 4 is not divisible by dp 2 x microbatches 4");
  EXPECT_EQ(refusal({"--hidden=66"}), "hidden 66 is not divisible by heads 4");
  EXPECT_EQ(refusal({"--steps=0"}), "steps 0 is not positive");
  EXPECT_EQ(refusal({"--tp=-2"}), "tp -2 is not positive");
}

TEST(Config, UnknownOptionsGetTheNearestName) {
  EXPECT_EQ(refusal({"--fused-atention=on"}),
            "no option '--fused-atention'; the nearest is '--fused-attention'");
  EXPECT_EQ(refusal({"--micro=2"}).substr(0, 21), "no option '--micro'; ");  // no prefix guessing
}

TEST(Config, BadValuesSayWhatIsAllowed) {
  EXPECT_EQ(refusal({"--dtype=fp8"}), "--dtype is 'fp8'; it may be: bf16 fp32 fp16");
  EXPECT_EQ(refusal({"--sp=yes"}), "--sp is 'yes'; it may be: on off");
  EXPECT_NE(refusal({"--tp=two"}), "");
  EXPECT_NE(refusal({"stray"}), "");
  EXPECT_EQ(refusal({"--dtype=fp16"}), "");
}

}  // namespace
}  // namespace nanhunt::mini
