// SPDX-License-Identifier: Apache-2.0
// Each planted fault first shows where the library says it is planted: the first record whose bits
// differ from those of the healthy run of the same layout. The twin, no fault, differs nowhere.
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <tuple>

#include "tests/cases/mini_run.h"
#include "tests/support/scratch_folder.h"

namespace nanhunt::mini {
namespace {

// Rank, microbatch, place, occurrence.
using Key = std::tuple<int, int, Place, int>;

std::map<Key, const trace::Record*> by_key(const trace::Step& step) {
  std::map<Key, const trace::Record*> result;
  for (const trace::Record& record : step.records) {
    result[{record.where.rank, record.where.microbatch,
            Place{record.what.site, record.what.phase, record.what.role}, record.what.occurrence}] =
        &record;
  }
  return result;
}

struct FirstDifference {
  int64_t step = 0;
  int rank = 0;
  std::string where;   // "site phase role"
  int64_t others = 0;  // records of that step that differ too; told, not compared

  bool operator==(const FirstDifference& other) const {
    return std::tie(step, rank, where) == std::tie(other.step, other.rank, other.where);
  }
};

std::ostream& operator<<(std::ostream& out, const FirstDifference& difference) {
  return out << "step " << difference.step << " rank " << difference.rank << " " << difference.where
             << " and " << difference.others << " more records";
}

// In the program order of the faulty run, on the first rank that differs.
std::optional<FirstDifference> first_difference(const trace::TraceReader& clean,
                                                const trace::TraceReader& faulty) {
  for (const int64_t number : clean.steps()) {
    const trace::Step healthy = clean.read_step(number), broken = faulty.read_step(number);
    const auto expected = by_key(healthy);
    const trace::Record* first = nullptr;
    int64_t differing = 0;
    for (const auto& [key, record] : by_key(broken)) {
      const auto found = expected.find(key);
      if (found == expected.end() || found->second->raw_digest == record->raw_digest) continue;
      ++differing;
      if (first == nullptr || record->where.sequence < first->where.sequence) first = record;
    }
    if (first == nullptr) continue;
    return FirstDifference{
        number, first->where.rank,
        first->what.site + " " + std::string(name_of(first->what.phase)) + " " + first->what.role,
        differing - 1};
  }
  return std::nullopt;
}

std::optional<FirstDifference> hunt(const std::string& arguments, const std::string& fault) {
  const ScratchFolder clean, faulty;
  const std::string all = arguments + " --steps 2 --layers 2 --clip 0.1";
  EXPECT_EQ(run_mini({all, "", trace::Level::kStats}, clean.path()).status, 0);
  EXPECT_EQ(run_mini({all, fault, trace::Level::kStats}, faulty.path()).status, 0);
  return first_difference(trace::TraceReader(clean.path()), trace::TraceReader(faulty.path()));
}

struct Planted {
  std::string name, arguments, numbers;
  FirstDifference expected;
};

class Faults : public testing::TestWithParam<Planted> {};

TEST_P(Faults, FirstShowsWhereItIsPlanted) {
  const Planted& planted = GetParam();
  const std::string fault =
      R"({"name": ")" + planted.name + R"(", "step": 1)" + planted.numbers + "}";
  const auto found = hunt(planted.arguments, fault);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(*found, planted.expected);
}

TEST(FaultsTwin, NoFaultDiffersNowhere) {
  EXPECT_EQ(hunt("--tp 2 --sp on --dp 2", R"({"name": "none", "layer": 1})"), std::nullopt);
}

constexpr char kLayer[] = R"(, "layer": 1)";
constexpr char kLayerElement[] = R"(, "layer": 1, "element": 6)";
constexpr char kLayerRank[] = R"(, "layer": 1, "rank": 1, "element": 6)";
constexpr char kRank[] = R"(, "rank": 1)";

FirstDifference at(int rank, const std::string& where) {
  return {1, rank, where};
}
std::string layer(const std::string& where) {
  return "decoder.layers.1." + where;
}

INSTANTIATE_TEST_SUITE_P(
    Library, Faults,
    testing::Values(Planted{"norm_grad_not_summed", "--tp 2 --sp on", "",
                            at(0, "decoder.final_layernorm.weight unscaled grad")},
                    Planted{"row_bias_on_every_rank", "--tp 2", kLayer,
                            at(0, layer("self_attention.linear_proj pre_collective output"))},
                    Planted{"row_grad_reduced_again", "--tp 2", kLayer,
                            at(0, layer("self_attention.linear_proj backward grad_output"))},
                    Planted{"reduce_scatter_on_world", "--tp 2 --sp on --dp 2", kLayer,
                            at(0, layer("self_attention.linear_proj post_collective output"))},
                    Planted{"masked_row", "", kLayerElement,
                            at(0, layer("self_attention.core_attention forward mask"))},
                    Planted{"clip_skipped_on_rank", "--tp 2", kRank,
                            at(1, "decoder.final_layernorm.weight clipped grad")},
                    Planted{"norm_counts_replicas", "--tp 2", "",
                            at(1, "optimizer pre_collective grad_norm_squared")},
                    Planted{"reduced_copy_dropped", "--tp 2 --batch-first on", "",
                            at(0, "output_layer post_collective grad_input")},
                    Planted{"large_mlp_weight",
                            "--dtype fp16",
                            kLayerElement,
                            {0, 0, layer("mlp.linear_fc1.weight forward param")}},
                    Planted{"fp8_dequantise_scale", "--fp8 on", kLayerElement,
                            at(0, layer("mlp.linear_fc1 forward output"))},
                    Planted{"fused_mask_last_block", "--fused-attention on", kLayer,
                            at(0, layer("self_attention.core_attention forward output"))},
                    Planted{"bucket_read_early", "--dp 2 --overlap-grad-reduce on", kLayerRank,
                            at(1, layer("mlp.linear_fc1.weight post_collective main_grad"))},
                    Planted{"nan_on_rank", "--tp 2 --dp 2", kLayerRank,
                            at(1, layer("mlp.linear_fc1 forward output"))},
                    Planted{"row_missing_share", "--tp 2", kLayerElement,
                            at(0, layer("self_attention.linear_proj post_collective output"))},
                    Planted{"rows_swapped", "--tp 2", kLayerElement,
                            at(0, layer("self_attention.linear_proj forward output"))},
                    Planted{"element_outlier", "--tp 2", kLayerElement,
                            at(0, layer("self_attention.linear_proj forward output"))},
                    Planted{"shard_scaled", "--tp 2", kLayerRank,
                            at(1, layer("mlp.linear_fc1 forward output"))},
                    Planted{"gelu_tanh", "", "",
                            at(0, "decoder.layers.0.mlp.activation_func forward output")},
                    Planted{"softmax_scale", "", "",
                            at(0, "decoder.layers.0.self_attention.core_attention forward output")},
                    Planted{"loss_denominator", "", "", at(0, "loss loss loss")},
                    Planted{"high_half_kept", "--tp 2 --masters off", "",
                            at(0, layer("mlp.linear_fc2.weight update param"))}),
    [](const auto& planted) { return planted.param.name; });

// A fault whose code the other setting does not run shows nowhere.
TEST(FaultsTwin, NeedsItsToggle) {
  const std::string race = R"({"name": "bucket_read_early", "layer": 1, "rank": 1})";
  EXPECT_EQ(hunt("--dp 2", race), std::nullopt);
  EXPECT_EQ(hunt("--tp 2", R"({"name": "reduced_copy_dropped"})"), std::nullopt);
  EXPECT_EQ(hunt("--tp 4 --sp on", R"({"name": "reduce_scatter_on_world"})"), std::nullopt);
  EXPECT_EQ(hunt("", R"({"name": "fused_mask_last_block"})"), std::nullopt);
  EXPECT_EQ(hunt("--masters off", R"({"name": "high_half_kept"})"), std::nullopt);
}

TEST(MiniCalibration, OnlyLaterRepeatsArePerturbed) {
  const ScratchFolder plain, repeated;
  const std::string arguments = "--steps 1 --layers 2";
  MiniRun run{arguments, "", trace::Level::kStats};
  ASSERT_EQ(run_mini(run, plain.path()).status, 0);
  run.repeats = 3;
  run.perturbation = R"({"seed": 1, "ulp_parameters": true, "noise": []})";
  ASSERT_EQ(run_mini(run, repeated.path()).status, 0);
  const auto repeat = [&](const char* name) { return trace::TraceReader(repeated.path() / name); };
  EXPECT_EQ(first_difference(trace::TraceReader(plain.path()), repeat("000")), std::nullopt);
  const FirstDifference moved{0, 0, "embedding.word_embeddings.weight forward param"};
  EXPECT_EQ(first_difference(repeat("000"), repeat("001")), moved);
  EXPECT_EQ(first_difference(repeat("001"), repeat("002")), moved);
}

}  // namespace
}  // namespace nanhunt::mini
