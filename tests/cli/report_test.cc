// SPDX-License-Identifier: Apache-2.0
// `nanhunt report`: where the page goes, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/command.h"
#include "compare/verdict.h"
#include "tests/support/scratch_folder.h"

namespace nanhunt::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class Report : public ::testing::Test {
 protected:
  void SetUp() override {
    compare::Verdict verdict;
    verdict.kind = compare::VerdictKind::kFails;
    verdict.reason = "exit status 3 & more";
    std::ofstream(folder_ / "verdict.json") << compare::to_json(verdict).dump(2);
  }

  int call(const std::vector<std::string>& words) {
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    const int status = dispatch(words);
    out_ = ::testing::internal::GetCapturedStdout();
    err_ = ::testing::internal::GetCapturedStderr();
    return status;
  }
  static std::string text_of(const fs::path& file) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
  }

  const ScratchFolder folder_;
  std::string out_, err_;
};

TEST_F(Report, WritesThePageBesideTheResult) {
  EXPECT_EQ(call({"report", folder_.path().string()}), 0) << err_;
  EXPECT_EQ(out_, (folder_ / "verdict.html").string() + "\n");
  EXPECT_THAT(text_of(folder_ / "verdict.html"), HasSubstr("fails: exit status 3 &amp; more"));
}

TEST_F(Report, WritesThePageWhereItIsTold) {
  const fs::path page = folder_ / "page.html";
  EXPECT_EQ(call({"report", (folder_ / "verdict.json").string(), "--out", page.string()}), 0);
  EXPECT_THAT(text_of(page), HasSubstr("fails"));
  EXPECT_FALSE(fs::exists(folder_ / "verdict.html"));
}

TEST_F(Report, WhatIsNoResultIsRefusedInOneLine) {
  const fs::path empty = folder_ / "empty";
  fs::create_directories(empty);
  EXPECT_EQ(call({"report", empty.string()}), 3);
  EXPECT_EQ(std::count(err_.begin(), err_.end(), '\n'), 1);
  EXPECT_THAT(err_, HasSubstr("empty: no result"));
  EXPECT_EQ(call({"report", (folder_ / "none").string()}), 3);
  EXPECT_EQ(call({"report"}), 2);
  EXPECT_EQ(call({"report", folder_.path().string(), "--out", folder_.path().string()}), 2);
  EXPECT_EQ(
      call({"report", folder_.path().string(), "--out", (folder_ / "no/such/x.html").string()}), 4);
}

}  // namespace
}  // namespace nanhunt::cli
