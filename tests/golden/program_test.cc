// SPDX-License-Identifier: Apache-2.0
// `nanhunt golden` as a user starts it: on the bundled subject, which repeats to the bit, with its
// faults in and out; and with noise put into it by its hooks.
#include "tests/e2e/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/support/scratch_folder.h"

namespace nanhunt::e2e {
namespace {

using nlohmann::json;
using testing::HasSubstr;

struct Checked {
  Ended ended;
  json result;

  std::string verdict() const { return result.value("verdict", "none"); }
  json first() const { return result.at("different").at(0); }
};

class GoldenProgram : public testing::Test {
 protected:
  Ended golden(std::vector<std::string> words) const {
    words.insert(words.begin(), "golden");
    return nanhunt(words);
  }
  Checked check(std::vector<std::string> words) const {
    words.insert(words.begin(), {"check", file_});
    words.push_back("--json");
    Checked checked{golden(words), {}};
    checked.result = json::parse(checked.ended.output, nullptr, false);
    if (checked.result.is_discarded()) checked.result = json::object();
    return checked;
  }
  // Traces of mini with noise at the results of its reductions, as another order leaves it: each
  // repeat but the first draws its own.
  std::vector<std::string> noisy_traces(int runs, int seed, const std::string& option) const {
    const fs::path out = folder_ / ("traces-" + std::to_string(seed));
    const fs::path plan = folder_ / ("plan-" + std::to_string(seed));
    const json noise = {{"site", "**"}, {"phase", "post_collective"}, {"relative", 1e-6}};
    const json perturbation = {
        {"seed", seed}, {"ulp_parameters", false}, {"noise", json::array({noise})}};
    write(plan, json{{"out", out.string()},
                     {"level", "stats"},
                     {"repeats", runs + 1},
                     {"perturbation", perturbation}}
                    .dump());
    const Ended ended =
        run({mini_, "--tp=2", "--dp=2", "--steps=2", option}, {{"NANHUNT_CAPTURE", plan.string()}});
    EXPECT_EQ(ended.status, 0) << ended.errors;
    std::vector<std::string> traces;
    for (int repeat = 1; repeat <= runs; ++repeat)
      traces.push_back((out / ("00" + std::to_string(repeat))).string());
    return traces;
  }

  ScratchFolder folder_;
  std::string file_ = (folder_ / "golden.json").string();
  std::string out_ = "--out=" + (folder_ / "work").string();
  std::string mini_ = (build_folder() / "cases/mini/mini").string();
};

TEST_F(GoldenProgram, AFaultOfACaseIsFoundAndItsTwinIsTheSame) {
  const std::string the_case = (cases_folder() / "b04_row_bias_on_every_rank.case").string();
  const Ended made =
      golden({"export", the_case, "--healthy", "--runs=2", "--steps=2", out_, "-o", file_});
  ASSERT_EQ(made.status, 0) << made.errors;
  EXPECT_THAT(made.output, HasSubstr("Exported: 2 runs of"));
  EXPECT_THAT(made.output, HasSubstr(" 0 noise, 0 unjudged"));

  const Checked twin = check({the_case, "--healthy", "--steps=2", out_});
  EXPECT_EQ(twin.ended.status, 0) << twin.ended.output << twin.ended.errors;
  EXPECT_EQ(twin.verdict(), "same");

  const Checked faulty = check({the_case, "--steps=2", out_});
  EXPECT_EQ(faulty.ended.status, 1) << faulty.ended.output << faulty.ended.errors;
  ASSERT_EQ(faulty.verdict(), "different");
  EXPECT_THAT(faulty.first().at("site").get<std::string>(), HasSubstr("linear_proj"));
  EXPECT_THAT(faulty.first().at("inputs").get<std::string>(), HasSubstr("it started here"));
}

TEST_F(GoldenProgram, ANanOfACaseIsFoundOnItsRank) {
  const std::string the_case = (cases_folder() / "one_rank_nan.case").string();
  ASSERT_EQ(golden({"export", the_case, "--healthy", "--runs=2", out_, "-o", file_}).status, 0);
  const Checked faulty = check({the_case, out_});
  EXPECT_EQ(faulty.ended.status, 1) << faulty.ended.output << faulty.ended.errors;
  ASSERT_EQ(faulty.verdict(), "different");
  EXPECT_EQ(faulty.first().at("rule"), "non_finite");
  EXPECT_THAT(faulty.first().at("site").get<std::string>(), HasSubstr("mlp.linear_fc1"));
  EXPECT_EQ(faulty.first().at("ranks").size(), 1u);
}

TEST_F(GoldenProgram, NoiseOfReductionsIsNoFault) {
  std::vector<std::string> traces = noisy_traces(8, 1, "--learning-rate=0.001");
  std::vector<std::string> words = {"export", "-o", file_};
  words.insert(words.end(), traces.begin(), traces.begin() + 5);
  const Ended made = golden(words);
  ASSERT_EQ(made.status, 0) << made.errors;
  for (size_t run = 5; run < traces.size(); ++run) {
    const Checked healthy = check({traces[run]});
    EXPECT_EQ(healthy.verdict(), "same") << healthy.ended.output << healthy.ended.errors;
    EXPECT_GT(healthy.result.at("tensors").at("within"), 0);
  }
  const Checked other = check(noisy_traces(1, 50, "--learning-rate=0.00101"));
  EXPECT_EQ(other.verdict(), "different") << other.ended.output << other.ended.errors;
  EXPECT_EQ(other.first().at("role"), "learning_rate");
}

TEST_F(GoldenProgram, AnotherLayoutIsNotAccused) {
  const std::string the_case = (cases_folder() / "clean.case").string();
  ASSERT_EQ(golden({"export", the_case, "--runs=2", "--steps=1", out_, "-o", file_}).status, 0);
  const Checked other = check({the_case, "--steps=1", "--set=parallel.tp=4", out_});
  EXPECT_EQ(other.ended.status, 125) << other.ended.output << other.ended.errors;
  EXPECT_FALSE(other.result.at("layout_exported"));
  EXPECT_EQ(other.result.at("tensors").at("different"), 0);
}

TEST_F(GoldenProgram, BadCallsAreRefusedInOneLine) {
  write(file_, "{}");
  const auto errors = [&](const std::vector<std::string>& words, int status) {
    const Ended ended = golden(words);
    EXPECT_EQ(ended.status, status) << joined(words) << ": " << ended.errors;
    EXPECT_EQ(std::count(ended.errors.begin(), ended.errors.end(), '\n'), 1) << ended.errors;
    return ended.errors;
  };
  EXPECT_THAT(errors({}, 2), HasSubstr("export TRACE... -o FILE"));
  EXPECT_THAT(errors({"export", folder_.path().string()}, 2), HasSubstr("needs -o FILE"));
  EXPECT_THAT(errors({"export", "-o", file_}, 2), HasSubstr("needs TRACE"));
  EXPECT_THAT(errors({"export", folder_.path().string(), "-o", file_}, 3),
              HasSubstr(folder_.path().string()));
  EXPECT_THAT(errors({"check", file_, folder_.path().string()}, 3), HasSubstr("not a golden file"));
  EXPECT_THAT(errors({"check", file_ + ".absent", folder_.path().string()}, 3),
              HasSubstr("cannot be opened"));
}

}  // namespace
}  // namespace nanhunt::e2e
