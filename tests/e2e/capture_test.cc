// SPDX-License-Identifier: Apache-2.0
// `nanhunt capture`: a ring that waits for a trigger, and the price of a capture.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/e2e/verdict_json.h"
#include "tests/support/scratch_folder.h"

namespace nanhunt::e2e {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

Ended capture(const std::string& name, const fs::path& out, const std::vector<std::string>& more) {
  std::vector<std::string> words = {"capture", (cases_folder() / name).string(), "--out",
                                    out.string()};
  words.insert(words.end(), more.begin(), more.end());
  return nanhunt(words);
}

std::string trace_in(const Ended& captured) {
  const size_t start = captured.output.find("trace: ") + 7;
  return captured.output.substr(start, captured.output.find('\n', start) - start);
}

int steps_in(const std::string& trace) {
  int steps = 0;
  for (const auto& entry : fs::directory_iterator(trace))
    steps += entry.path().filename().string().starts_with("step-");
  return steps;
}

const std::vector<std::string> kRing = {"--steps", "9", "--ring", "1", "--trigger", "nonfinite"};

TEST(Ring, WritesTheStepWithTheNan) {
  const ScratchFolder work;
  const Ended captured = capture("one_rank_nan", work.path(), kRing);
  ASSERT_EQ(captured.status, 0) << captured.errors;
  EXPECT_THAT(captured.output, HasSubstr("ring: nonfinite fired in step "));
  EXPECT_THAT(captured.output, HasSubstr("measured 1 NaN or Inf, allowed 0"));
  EXPECT_LE(steps_in(trace_in(captured)), 3);
  EXPECT_TRUE(fs::exists(fs::path(trace_in(captured)) / "trigger-000.txt"));
  const Hunted hunted = verdict_of(nanhunt({"scan", trace_in(captured), "--json"}));
  EXPECT_EQ(hunted.kind, "non-finite") << hunted.describe();
  EXPECT_THAT(hunted.place(), HasSubstr("mlp.linear_fc1 forward output"));
  EXPECT_THAT(hunted.incomplete, IsEmpty());
}

TEST(Ring, SaysThatNothingFired) {
  const ScratchFolder work;
  std::vector<std::string> words = kRing;
  words.push_back("--healthy");
  const Ended captured = capture("one_rank_nan", work.path(), words);
  ASSERT_EQ(captured.status, 0) << captured.errors;
  EXPECT_THAT(captured.output, HasSubstr("ring: 9 steps watched, no trigger fired"));
  EXPECT_EQ(steps_in(trace_in(captured)), 1);
  // Watched is not judged: never a clean verdict.
  const Hunted hunted = verdict_of(nanhunt({"scan", trace_in(captured), "--json"}));
  EXPECT_EQ(hunted.kind, "incomplete") << hunted.describe();
  EXPECT_THAT(hunted.incomplete, HasSubstr("no trigger fired"));
}

TEST(Ring, OffWritesAllSteps) {
  const ScratchFolder work;
  const Ended captured = capture("one_rank_nan", work.path(), {"--steps", "4", "--healthy"});
  EXPECT_EQ(steps_in(trace_in(captured)), 4) << captured.errors;
  EXPECT_EQ(captured.output.find("ring:"), std::string::npos);
}

TEST(Plan, PricesFromTwoSteps) {
  const ScratchFolder work;
  const Ended text = capture("clean", work.path(), {"--plan", "--steps", "1000"});
  ASSERT_EQ(text.status, 0) << text.errors;
  EXPECT_THAT(text.output, HasSubstr("records per step and rank: "));
  EXPECT_THAT(text.output, HasSubstr("(estimated: 1000 steps, "));
  const Ended as_json = capture("clean", work.path(), {"--plan", "--steps", "1000", "--json"});
  const auto json = nlohmann::json::parse(as_json.output);
  EXPECT_GT(json["records"]["value"], 100);
  EXPECT_GT(json["full_bytes"]["value"], json["stats_bytes"]["value"]);
  EXPECT_EQ(json["records"]["how"], "measured");
}

}  // namespace
}  // namespace nanhunt::e2e
