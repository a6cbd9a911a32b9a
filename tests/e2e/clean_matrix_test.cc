// SPDX-License-Identifier: Apache-2.0
// Healthy runs have no finding, whatever the layout: tensor, sequence and data parallelism, both
// types, several seeds, models and lengths. The short set takes each value once, all is every
// combination.
#include <gtest/gtest.h>

#include <cctype>
#include <cmath>
#include <cstdio>
#include <set>

#include "tests/e2e/verdict_json.h"
#include "tests/e2e/zero_findings.h"
#include "tests/support/scratch_folder.h"

namespace nanhunt::e2e {
namespace {

struct Combination {
  std::string tp, sp, dp, dtype, seed = "1";
  std::vector<std::string> more = {};  // NAME=VALUE
  std::string level = "auto";          // full: every op is computed again

  std::string name() const {
    std::string text = "tp" + tp + "_sp_" + sp + "_dp" + dp + "_" + dtype + "_seed" + seed;
    for (const std::string& each : more) text += "_" + each;
    if (level != "auto") text += "_" + level;
    for (char& letter : text) {
      if (!std::isalnum(static_cast<unsigned char>(letter))) letter = '_';
    }
    return text;
  }
};

std::vector<std::string> words_of(const Combination& one) {
  std::vector<std::string> settings = {"parallel.tp=" + one.tp, "layout.sp=" + one.sp,
                                       "parallel.dp=" + one.dp, "precision.dtype=" + one.dtype,
                                       "seed=" + one.seed};
  settings.insert(settings.end(), one.more.begin(), one.more.end());
  // The reference trains in the same type: what is asked is whether the layout changes anything.
  std::vector<std::string> words = {"--level", one.level, "--set-reference",
                                    "precision.dtype=" + one.dtype};
  for (const std::string& setting : settings) {
    words.push_back("--set");
    words.push_back(setting);
  }
  return words;
}

const std::vector<std::string> kLearned = {"model.positions=learned", "model.qkv_bias=on"};
const std::vector<std::string> kRagged = {"batch.ragged=on"};
const std::vector<std::string> kUnused = {"model.pooler=on"};
const std::vector<std::string> kDropout = {"model.dropout=0.1"};
const std::vector<std::string> kFp8 = {"precision.fp8=on"};
const std::vector<std::string> kFp8Dropout = {"precision.fp8=on", "model.dropout=0.1"};
const std::vector<std::string> kUnfused = {"fusion.attention=off", "fusion.adamw=off",
                                           "overlap.grad_reduce=off", "model.dropout=0.1"};
const std::vector<std::string> kAllAtOnce = {"model.positions=learned", "model.qkv_bias=on",
                                             "batch.ragged=on", "model.pooler=on"};

#ifdef NANHUNT_E2E_ALL
// Every layout by itself, and what else a run may switch on, each in two layouts.
std::vector<Combination> of_type(const std::string& dtype, const std::string& seed) {
  std::vector<Combination> list;
  for (const std::string dp : {"1", "2"}) {
    for (const std::string tp : {"1", "2", "4"}) {
      for (const std::string sp : {"off", "on"}) {
        if (tp == "1" && sp == "on") continue;
        list.push_back({tp, sp, dp, dtype, seed});
      }
    }
  }
  for (const auto& more : {kLearned, kRagged, kUnused, kAllAtOnce, kDropout, kFp8, kUnfused}) {
    list.push_back({"2", "on", "2", dtype, seed, more});
    list.push_back({"4", "off", "1", dtype, seed, more});
  }
  list.push_back({"2", "on", "2", dtype, seed, kFp8Dropout, "full"});
  list.push_back({"4", "off", "1", dtype, seed, kDropout, "full"});
  return list;
}

std::vector<Combination> combinations() {
  std::vector<Combination> list;
  for (const std::string seed : {"1", "2", "3"}) {
    for (const std::string dtype : {"fp32", "bf16", "fp16"}) {
      for (Combination& one : of_type(dtype, seed)) list.push_back(std::move(one));
    }
  }
  return list;
}
#else
std::vector<Combination> combinations() {
  return {{"1", "off", "2", "fp32", "1", kUnused}, {"2", "on", "2", "bf16", "1", kAllAtOnce},
          {"4", "on", "1", "fp32", "1", kLearned}, {"2", "off", "1", "bf16", "1", kRagged},
          {"4", "off", "2", "bf16", "1", kFp8},    {"2", "on", "2", "fp16", "1", kDropout, "full"}};
}
#endif

class CleanMatrix : public testing::TestWithParam<Combination> {};

TEST_P(CleanMatrix, HasNoFinding) {
  const Hunted hunted = hunt(cases_folder() / "clean.case", words_of(GetParam()));
  EXPECT_EQ(hunted.kind, "clean") << hunted.describe();
  EXPECT_EQ(hunted.status, 0);
  // Clean means no more than what was looked at.
  EXPECT_GT(hunted.records_compared, 500);
  EXPECT_EQ(hunted.sites_fired, hunted.sites_expected);
  EXPECT_TRUE(hunted.controls_passed);
}

const auto kName = [](const auto& one) { return one.param.name(); };
#ifdef NANHUNT_E2E_ALL
INSTANTIATE_TEST_SUITE_P(All, CleanMatrix, testing::ValuesIn(combinations()), kName);
#else
INSTANTIATE_TEST_SUITE_P(Short, CleanMatrix, testing::ValuesIn(combinations()), kName);
#endif

// What the matrix proves when it passes; the figures of docs/detection.md.
TEST(CleanMatrixSize, SaysWhatNoFindingProves) {
  std::set<std::string> runs, configurations;
  for (Combination one : combinations()) {
    runs.insert(one.name());
    one.seed = "any";
    configurations.insert(one.name());
  }
  ASSERT_EQ(runs.size(), combinations().size()) << "a run that is there twice counts once";
#ifdef NANHUNT_E2E_ALL
  EXPECT_GE(configurations.size(), 60u);
  EXPECT_EQ(runs.size(), 3 * configurations.size());
#endif
  const auto n = static_cast<int64_t>(runs.size());
  std::printf(
      "%zu healthy runs (%zu configurations): no finding among them proves at 95 %% that "
      "at most %.2f %% of such runs have one (rule of three: %.2f %%)\n",
      runs.size(), configurations.size(), 100 * most_findings_at_95(n),
      300 / static_cast<double>(n));
}

TEST(MostFindings, AreThoseThatLeaveNoneAtFivePercent) {
  for (const int64_t n : {1, 6, 108, 100000}) {
    const double most = most_findings_at_95(n);
    EXPECT_NEAR(std::pow(1 - most, static_cast<double>(n)), 0.05, 1e-9) << n;
    // The must-fail twin: what is taken for it to first order leaves less.
    if (n > 3) {
      EXPECT_LT(std::pow(1 - 3 / static_cast<double>(n), static_cast<double>(n)), 0.05) << n;
    }
  }
}

// Few toggles differ, so that little is left to explain.
const std::vector<std::string> kLayoutAlone = {
    "fusion.attention=off", "fusion.adamw=off",     "fusion.grad_accumulation=off",
    "reduce.order=rank",    "batch.microbatches=1", "overlap.grad_reduce=off"};

// The must-fail twin: the same command with a fault planted from outside finds it.
TEST(CleanMatrixTwin, FindsWhatIsPlanted) {
  const ScratchFolder folder;
  write(folder / "side.json", R"({"name": "norm_grad_not_summed", "step": 1})");
  const Hunted hunted =
      hunt(cases_folder() / "clean.case", words_of({"2", "on", "1", "bf16", "1", kLayoutAlone}),
           {{"NANHUNT_FAULT_FILE", (folder / "side.json").string()}});
  EXPECT_EQ(hunted.status, 1);
  EXPECT_EQ(hunted.place(), "decoder.final_layernorm.weight unscaled grad") << hunted.describe();
}

}  // namespace
}  // namespace nanhunt::e2e
