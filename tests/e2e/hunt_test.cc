// SPDX-License-Identifier: Apache-2.0
// `nanhunt run` on a bundled case, as the README shows it: the text ends with a verdict that names
// the planted place, and capture finds the same at every level.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/verdict_json.h"
#include "tests/support/scratch_folder.h"

namespace nanhunt::e2e {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

Ended run_case(const std::string& name, const fs::path& out,
               const std::vector<std::string>& more = {}) {
  std::vector<std::string> words = {"run", (cases_folder() / name).string(), "--out", out.string()};
  words.insert(words.end(), more.begin(), more.end());
  return nanhunt(words);
}

TEST(FirstExample, EndsWithAVerdictThatNamesThePlantedPlace) {
  const ScratchFolder work;
  const Ended ended = run_case("b01_norm_grad_not_summed", work.path());
  EXPECT_EQ(ended.status, 1) << ended.errors;
  const size_t ticket = ended.output.find("---- nanhunt ----");
  ASSERT_NE(ticket, std::string::npos) << ended.output;
  const std::string block = ended.output.substr(ticket);
  EXPECT_THAT(block, HasSubstr("site:      decoder.final_layernorm.weight, unscaled, grad"));
  EXPECT_THAT(block, HasSubstr("signature: missing_reduction"));
  EXPECT_THAT(block, HasSubstr("cause:     parallel.tp and layout.sp explain it"));
  EXPECT_THAT(block, EndsWith("-----------------\n"));
  EXPECT_TRUE(fs::exists(work / "verdict.json"));
}

// The must-fail twin: the same command without the fault.
TEST(FirstExample, IsCleanWhenHealthy) {
  const ScratchFolder work;
  const Ended ended = run_case("b01_norm_grad_not_summed", work.path(), {"--healthy"});
  EXPECT_EQ(ended.status, 0) << ended.output;
  EXPECT_THAT(ended.output, HasSubstr("verdict:   clean"));
}

// What is planted is told to the children alone, and another draw is not taken for this one.
TEST(Draw, IsMadeAgainWithAnotherSeed) {
  const ScratchFolder work;
  for (const std::string seed : {"1", "2"}) {
    const Hunted hunted = capture_and_scan("b27_clip_on_one_rank", work.path(), {"--seed", seed});
    EXPECT_EQ(hunted.status, 1) << hunted.describe();
  }
  int side_files = 0;
  for (const auto& entry : fs::directory_iterator(work.path())) {
    side_files += entry.path().filename().string().starts_with("side-");
  }
  EXPECT_EQ(side_files, 2);
}

// Statistics leave the scaled product undecided and accuse the next layer. The first look with
// values moves the first bad upstream, to a site that the look left out.
TEST(LookWithValues, IsRepeatedUntilTheFirstBadHasThem) {
  const Hunted hunted = hunt(cases_folder() / "fp8_scale.case", {"--seed", "4"});
  EXPECT_EQ(hunted.place(), "decoder.layers.0.mlp.linear_fc2 pre_collective output")
      << hunted.describe();
  EXPECT_EQ(hunted.signature, "constant_ratio") << hunted.describe();
}

class RaceAtLevel : public testing::TestWithParam<const char*> {};

// Capture changes no timing that the race hangs on.
TEST_P(RaceAtLevel, IsFound) {
  const ScratchFolder work;
  const Hunted hunted = capture_and_scan("race", work.path(), {"--level", GetParam()});
  EXPECT_EQ(hunted.status, 1) << hunted.describe();
  EXPECT_THAT(hunted.place(), EndsWith(".weight post_collective main_grad"));
  EXPECT_EQ(hunted.signature, "after_equals_before");
  EXPECT_EQ(hunted.ranks.size(), 1u);
}

TEST_P(RaceAtLevel, IsNotFoundWhereThereIsNone) {
  const ScratchFolder work;
  const Hunted hunted = capture_and_scan("race", work.path(), {"--healthy", "--level", GetParam()});
  EXPECT_EQ(hunted.status, 0) << hunted.describe();
}

INSTANTIATE_TEST_SUITE_P(Levels, RaceAtLevel, testing::Values("stats", "full"),
                         [](const auto& one) { return std::string(one.param); });

}  // namespace
}  // namespace nanhunt::e2e
