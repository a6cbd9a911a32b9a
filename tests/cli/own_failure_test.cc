// SPDX-License-Identifier: Apache-2.0
// The example of docs/cases.md: a shell script that knows nothing of hooks, hunted by its exit
// status and by a check of its log.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/command.h"
#include "tests/support/scratch_folder.h"

namespace nanhunt::cli {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;
using nlohmann::json;
using ::testing::HasSubstr;

const fs::path kExample = fs::path(NANHUNT_SOURCE_DIR) / "docs/examples/shell";

std::string text_of(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

class Script : public ::testing::TestWithParam<std::string> {
 protected:
  int call(const std::string& command, const Names& words = {}) {
    Names all = {command, (kExample / GetParam()).string(), "--out", out_.string()};
    all.insert(all.end(), words.begin(), words.end());
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    const int status = dispatch(all);
    printed_ = ::testing::internal::GetCapturedStdout();
    told_ = ::testing::internal::GetCapturedStderr();
    return status;
  }
  json verdict() { return json::parse(text_of(out_ / "verdict.json")); }

  const ScratchFolder scratch_;
  const fs::path out_ = scratch_ / "out";
  std::string printed_, told_;
};

TEST_P(Script, IsHuntedToTheSwitchesThatMakeItFail) {
  EXPECT_EQ(call("run"), 1) << told_;
  EXPECT_THAT(printed_, HasSubstr("no trace was judged"));
  EXPECT_THAT(printed_, HasSubstr("confirmed both ways"));
  const json found = verdict();
  EXPECT_EQ(found["verdict"], "fails");
  EXPECT_EQ(found["cause"]["toggles"], (Names{"batch.microbatches", "loss.reduction"}));
  EXPECT_EQ(found["cause"]["confirmed"], true);
  EXPECT_THAT(found["reason"].get<std::string>(), HasSubstr("exit status"));
  EXPECT_TRUE(fs::exists(fs::path(found["candidate"].get<std::string>()) / "stdout.txt"));
  for (const auto& entry : fs::directory_iterator(out_)) {
    EXPECT_FALSE(entry.path().filename().string().starts_with("envelope")) << entry.path();
  }
}

TEST_P(Script, AnotherPairOfSwitchesIsNotBlamed) {
  // Two microbatches stay on the curve, so that nothing is left to explain.
  EXPECT_EQ(call("run", {"--set", "batch.microbatches=2"}), 0) << told_;
  EXPECT_EQ(verdict()["verdict"], "passes");
  EXPECT_FALSE(verdict().contains("cause"));
}

TEST_P(Script, TheCauseIsWhatStillDiffers) {
  EXPECT_EQ(call("run", {"--set-reference", "loss.reduction=sum"}), 1) << told_;
  EXPECT_EQ(verdict()["cause"]["toggles"], Names{"batch.microbatches"});
}

TEST_P(Script, CannotTellWhenTheReferenceFailsToo) {
  const Names both = {"--set-reference", "loss.reduction=sum", "--set-reference",
                      "batch.microbatches=4"};
  EXPECT_EQ(call("run", both), 125);
  EXPECT_THAT(printed_, HasSubstr("the reference fails, too"));
  EXPECT_EQ(call("run", both), 125);
  EXPECT_THAT(printed_, HasSubstr("kept from an earlier run"));
}

TEST_P(Script, IsNotRunAgainForWhatIsKnown) {
  EXPECT_EQ(call("run"), 1);
  const auto runs = [&] {
    return std::distance(fs::directory_iterator(out_ / "runs"), fs::directory_iterator());
  };
  const auto before = runs();
  const auto ledger = text_of(out_ / "ledger.jsonl");
  EXPECT_EQ(call("ablate"), 1);
  EXPECT_EQ(runs(), before);
  EXPECT_EQ(text_of(out_ / "ledger.jsonl"), ledger);
  EXPECT_THAT(printed_, HasSubstr("off loss.reduction"));
  EXPECT_THAT(printed_, HasSubstr("cause: batch.microbatches and loss.reduction explain it"));
}

TEST_P(Script, IsCapturedWithoutATrace) {
  EXPECT_EQ(call("capture"), 1);
  EXPECT_THAT(printed_, HasSubstr("no trace"));
  EXPECT_EQ(call("capture", {"--reference"}), 0);
}

INSTANTIATE_TEST_SUITE_P(Example, Script, ::testing::Values("loss_sum", "loss_sum_check"));

TEST(Documentation, ShowsTheExampleAsItIs) {
  const std::string page = text_of(fs::path(NANHUNT_SOURCE_DIR) / "docs/cases.md");
  for (const char* file : {"train.subject", "loss_sum.case"}) {
    const std::string text = text_of(kExample / file);
    ASSERT_FALSE(text.empty()) << file;
    EXPECT_NE(page.find("```\n" + text + "```\n"), std::string::npos) << file;
  }
}

}  // namespace
}  // namespace nanhunt::cli
