// SPDX-License-Identifier: Apache-2.0
// `nanhunt repro` at the convergence level as a user calls it: options, exit statuses, refusals.
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
using nlohmann::json;
using testing::HasSubstr;
using testing::Not;
using Words = std::vector<std::string>;

struct Result {
  int status = 0;
  std::string out, err;
};

class ReproConvergence : public testing::Test {
 protected:
  ReproConvergence() { fs::create_directories(folder_); }

  // Ten steps whose loss is the number; the last step's is `last`.
  std::string put(const std::string& name, double loss, const std::string& last = "") {
    std::ofstream file(folder_ / name);
    file << "step,loss,accuracy\n";
    for (int step = 0; step < 10; ++step) {
      file << step << ',' << (step == 9 && !last.empty() ? last : std::to_string(loss)) << ','
           << loss / 10 << '\n';
    }
    return (folder_ / name).string();
  }
  // Four seeds with these differences.
  Words pairs(const std::vector<double>& differences, const std::string& option = "--pair") {
    Words words;
    for (size_t i = 0; i < differences.size(); ++i) {
      const std::string seed = std::to_string(i) + ".csv";
      const double a = 3 + static_cast<double>(i);
      words.push_back(option);
      words.push_back(put(option + "-a" + seed, a) + "=" +
                      put(option + "-b" + seed, a + differences[i]));
    }
    return words;
  }
  Result repro(const Words& first, const Words& second = {}) {
    Words words = {"repro"};
    words.insert(words.end(), first.begin(), first.end());
    words.insert(words.end(), second.begin(), second.end());
    return call(words);
  }
  Result call(const Words& words) {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    Result result;
    result.status = dispatch(words);
    result.out = testing::internal::GetCapturedStdout();
    result.err = testing::internal::GetCapturedStderr();
    return result;
  }
  const ScratchFolder own_;
  const fs::path folder_ = own_ / "lr=0.1";
};

TEST_F(ReproConvergence, DecisionsAreExitStatuses) {
  const Words small = pairs({0.01, -0.01, 0.01, -0.01});
  const Result equivalent = repro(small, {"--margin", "0.05"});
  EXPECT_EQ(equivalent.status, 0) << equivalent.err;
  EXPECT_THAT(equivalent.out, HasSubstr("Verdict: equivalent"));
  EXPECT_EQ(repro(small, {"--margin", "0.005"}).status, 125);
  const Result different = repro(pairs({0.3, 0.31, 0.29, 0.3}), {"--margin", "0.05"});
  EXPECT_EQ(different.status, 1);
  EXPECT_THAT(different.out, HasSubstr("verdict:   different: early_loss, late_loss, whole_loss"));
}

TEST_F(ReproConvergence, ThresholdsAreRegisteredBeforeFilesAreRead) {
  const Result missing = repro({"--pair", "no.csv=file.csv", "--margin", "0.05"});
  EXPECT_EQ(missing.status, 3);
  const size_t hash = missing.err.find("nanhunt: thresholds ");
  ASSERT_NE(hash, std::string::npos);
  EXPECT_LT(hash, missing.err.find("no.csv: cannot be opened"));
  const Result there = repro(pairs({0.01, -0.01}), {"--margin", "0.05"});
  EXPECT_THAT(there.out, HasSubstr("thresholds " + missing.err.substr(hash + 20, 16)));
  const Result other = repro(pairs({0.01, -0.01}), {"--margin", "0.06"});
  EXPECT_THAT(other.out, Not(HasSubstr("thresholds " + missing.err.substr(hash + 20, 16))));
}

TEST_F(ReproConvergence, MarginsByMetricAndByDeviation) {
  const Words small = pairs({0.01, -0.01, 0.01, -0.01});
  const Words same = pairs({0.01, -0.01, 0.005}, "--aa");
  Words both = small;
  both.insert(both.end(), same.begin(), same.end());
  const Result told = repro(both, {"--margin", "3sd", "--margin", "late_loss=0.5", "--json"});
  ASSERT_EQ(told.status, 0) << told.err;
  const json result = json::parse(told.out);
  ASSERT_EQ(result["metrics"].size(), 3u);
  EXPECT_EQ(result["metrics"][1]["metric"], "late_loss");
  EXPECT_EQ(result["metrics"][1]["margin"], 0.5);
  EXPECT_NEAR(result["metrics"][0]["margin"].get<double>(),
              3 * result["metrics"][0]["same"]["sd"].get<double>(), 1e-12);
  EXPECT_EQ(repro(small, {"--margin", "3sd"}).status, 2);
}

TEST_F(ReproConvergence, MetricsAreThoseThatAreNamed) {
  const Words late = pairs({0.3, 0.31, 0.29, 0.3});
  const Result told =
      repro(late, {"--margin", "0.05", "--metrics", "late_loss,early_loss", "--json"});
  EXPECT_EQ(told.status, 1) << told.err;
  const json result = json::parse(told.out);
  ASSERT_EQ(result["metrics"].size(), 2u);
  EXPECT_EQ(result["metrics"][0]["metric"], "early_loss");
  EXPECT_EQ(result["metrics"][1]["metric"], "late_loss");
  EXPECT_THAT(repro(late, {"--margin", "late_loss=1", "--metrics", "early_loss"}).err,
              HasSubstr("no margin for early_loss"));
  EXPECT_THAT(repro(late, {"--margin", "1", "--metrics", "lateloss"}).err,
              HasSubstr("no metric 'lateloss'; did you mean 'late_loss'?"));
  EXPECT_EQ(repro(late, {"--margin", "1", "--metrics", "quality"}).status, 2);
}

TEST_F(ReproConvergence, QualityIsJudgedWhenNamed) {
  const Words words = pairs({0.2, 0.21, 0.19, 0.2});
  const Words options = {"--quality-name", "accuracy", "--margin", "quality=0.001", "--json"};
  const Result told = repro(words, options);
  EXPECT_EQ(told.status, 1) << told.err;
  EXPECT_EQ(json::parse(told.out)["metrics"][0]["metric"], "quality");
  EXPECT_EQ(repro(words, {"--quality-name", "accuracy", "--margin", "quality=0.1"}).status, 0);
  EXPECT_EQ(repro(words, {"--quality-name", "accuracy", "--margin", "0.5"}).status, 2);
}

TEST_F(ReproConvergence, ALostSeedIsADifference) {
  Words words = pairs({0.01, -0.01, 0.01, -0.01});
  EXPECT_EQ(repro(words, {"--margin", "0.05"}).status, 0);
  words.push_back("--pair");
  words.push_back(put("a9.csv", 9) + "=" + put("b9.csv", 9, "nan"));
  const Result lost = repro(words, {"--margin", "0.05"});
  EXPECT_EQ(lost.status, 1);
  EXPECT_THAT(lost.out, HasSubstr("went to NaN or Inf on side B only, at step 9"));
}

TEST_F(ReproConvergence, ItsJsonBecomesAPage) {
  const auto page = [&](const std::vector<double>& differences) {
    const Result told = repro(pairs(differences), {"--margin", "0.05", "--json"});
    std::ofstream(folder_ / "told.json") << told.out;
    const Result made = call({"report", (folder_ / "told.json").string()});
    EXPECT_EQ(made.status, 0) << made.err;
    EXPECT_EQ(made.out, (folder_ / "told.html").string() + "\n");
    std::ostringstream text;
    text << std::ifstream(folder_ / "told.html").rdbuf();
    return text.str();
  };
  const std::string equivalent = page({0.01, -0.01, 0.01, -0.01});
  EXPECT_THAT(equivalent, HasSubstr("<h1 class=\"good\">equivalent: early_loss"));
  EXPECT_THAT(equivalent, HasSubstr("made by <code>nanhunt repro --pair "));
  EXPECT_THAT(page({0.3, 0.31, 0.29, 0.3}), HasSubstr("<h1 class=\"bad\">different: early_loss"));
}

TEST_F(ReproConvergence, UsageIsRefusedInOneLine) {
  const Words small = pairs({0.01, -0.01});
  const std::vector<std::pair<Words, std::string>> refused = {
      {{}, "needs --margin"},
      {{"--margin", "0"}, "the margin of early_loss is 0"},
      {{"--margin=-1"}, "the margin of early_loss is -1"},
      {{"--margin", "nan"}, "the margin of early_loss is NaN"},
      {{"--margin", "5%"}, "'5%' is neither a number"},
      {{"--margin", "lateloss=1"}, "no metric 'lateloss'; did you mean 'late_loss'?"},
      {{"--margin", "1", "--margin", "2"}, "two margins for all losses"},
      {{"--margin", "1", "--alpha", "0.7"}, "alpha is 0.7"},
      {{"--margin", "1", "--late", "0"}, "the late part is 0"},
      {{"--margin", "1", "--pair", "nothing"}, "--pair 'nothing' is not of the form A=B"},
      {{"--margin", "1", "--pair", "x=y=z"}, "can be cut at several places"}};
  for (const auto& [words, message] : refused) {
    const Result result = repro(small, words);
    EXPECT_EQ(result.status, 2) << message;
    EXPECT_THAT(result.err, HasSubstr(message));
    EXPECT_EQ(result.out, "");
  }
  EXPECT_EQ(repro({}).status, 2);
  EXPECT_EQ(repro({"--help"}).status, 0);
}

TEST_F(ReproConvergence, BadFilesGiveNoVerdict) {
  const std::string good = put("good.csv", 3);
  std::ofstream(folder_ / "bad.csv") << "step,loss\n0,3\n0,3\n";
  const Words words = {"--pair", good + "=" + (folder_ / "bad.csv").string(), "--margin", "1"};
  const Result result = repro(words);
  EXPECT_EQ(result.status, 3);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("bad.csv:3: step 0 is there twice, first on line 2"));
  EXPECT_EQ(repro(words, {"--bisect"}).status, 125);
}

TEST_F(ReproConvergence, PlansWithoutCurves) {
  const Result plan = repro({"--plan", "5"});
  EXPECT_EQ(plan.status, 0) << plan.err;
  EXPECT_THAT(plan.out, HasSubstr("       2.00   0.95  4\n"));
  const json told = json::parse(repro({"--plan", "3", "--json"}).out);
  EXPECT_EQ(told["rows"][5]["margin_over_sd"], 2.0);
  EXPECT_NEAR(told["rows"][5]["power"].get<double>(), 0.558, 0.001);
  EXPECT_EQ(repro({"--plan", "1"}).status, 2);
  EXPECT_EQ(repro({"--plan=5", "--alpha", "0"}).status, 2);
}

}  // namespace
}  // namespace nanhunt::cli
