// SPDX-License-Identifier: Apache-2.0
// Run against run: of the same program twice, and of two traces that are there already.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/reported.h"
#include "tests/support/scratch_folder.h"

namespace nanhunt::e2e {
namespace {

using testing::HasSubstr;

fs::path clock_case() {
  return cases_folder() / "again" / "masks_from_clock.case";
}

TEST(Again, ADrawFromTheClockIsNamed) {
  const Reported reported = repro(clock_case(), {});
  EXPECT_EQ(reported.status, 1) << reported.errors;
  EXPECT_EQ(reported.verdicts.at("state"), "equal") << reported.evidence.at("state");
  EXPECT_EQ(reported.verdicts.at("replay"), "different");
  EXPECT_THAT(reported.evidence.at("replay"),
              HasSubstr("first: step 0 decoder.layers.0.self_attn_dropout forward mask"));
}

TEST(Again, ARunThatRepeatsIsEqual) {
  const Reported reported = repro(clock_case(), {"--healthy"});
  EXPECT_EQ(reported.status, 0) << reported.errors;
  EXPECT_EQ(reported.verdicts.at("state"), "equal") << reported.evidence.at("state");
  EXPECT_EQ(reported.verdicts.at("replay"), "equal") << reported.evidence.at("replay");
}

// Ranks that drift apart do so in the same way each time.
TEST(Again, AFaultThatRepeatsIsEqual) {
  const Reported reported =
      repro(cases_folder() / "b01_norm_grad_not_summed.case", {"--again", "--steps=2"});
  EXPECT_EQ(reported.status, 0) << reported.errors;
  EXPECT_EQ(reported.verdicts.at("replay"), "equal") << reported.evidence.at("replay");
}

// A program that saves nothing is judged by its steps alone.
TEST(Again, ASubjectWithoutCapsulesHasNoState) {
  const Reported reported =
      repro(cases_folder() / "shared_code" / "healthy.case", {"--again", "--steps=1"});
  EXPECT_EQ(reported.status, 0) << reported.errors;
  EXPECT_EQ(reported.verdicts.at("state"), "not judged");
  EXPECT_EQ(reported.verdicts.at("replay"), "equal") << reported.evidence.at("replay");
}

// Runs of the bundled subject, each with trace and capsules in a folder.
class ExistingRuns : public testing::Test {
 protected:
  fs::path made(const std::string& name, const std::vector<std::string>& more) {
    const fs::path folder = folder_ / name;
    write(folder_ / (name + ".json"),
          R"({"level":"full","steps":[1],"out":")" + (folder / "trace").string() + "\"}");
    std::vector<std::string> words{(build_folder() / "cases/mini/mini").string(), "--steps=2",
                                   "--layers=1", "--capsules=" + (folder / "capsules").string()};
    words.insert(words.end(), more.begin(), more.end());
    const Ended ended = run(words, {{"NANHUNT_CAPTURE", (folder_ / (name + ".json")).string()}});
    EXPECT_EQ(ended.status, 0) << ended.errors;
    return folder;
  }

  ScratchFolder folder_;
};

TEST_F(ExistingRuns, OfOneSeedAreEqual) {
  const auto a = made("a", {}), b = made("b", {});
  const Reported reported = e2e::reported({"--runs", a.string(), (b / "trace").string()});
  EXPECT_EQ(reported.status, 0) << reported.errors;
  EXPECT_EQ(reported.verdicts.at("state"), "equal");
  EXPECT_EQ(reported.verdicts.at("replay"), "equal") << reported.evidence.at("replay");
  EXPECT_THAT(reported.evidence.at("replay"), HasSubstr("state after them"));
}

TEST_F(ExistingRuns, OfTwoSeedsAreNot) {
  const auto a = made("a", {}), b = made("b", {"--seed=2"});
  const Reported reported = e2e::reported({"--runs", a.string(), b.string()});
  EXPECT_EQ(reported.status, 1) << reported.errors;
  EXPECT_EQ(reported.verdicts.at("state"), "different");
  EXPECT_EQ(reported.verdicts.at("replay"), "different");
}

TEST_F(ExistingRuns, OfTwoLayoutsHaveAStateAndAnUnknownReplay) {
  const auto a = made("a", {}), b = made("b", {"--tp=2"});
  const Reported reported = e2e::reported({"--runs", a.string(), b.string()});
  EXPECT_EQ(reported.verdicts.at("replay"), "unknown") << reported.evidence.at("replay");
  EXPECT_THAT(reported.evidence.at("replay"), HasSubstr("mesh tp is 1 in A, 2 in B"));
}

TEST(RunsRefuses, WhatIsNoPair) {
  EXPECT_EQ(nanhunt({"repro", "--runs", "only_one"}).status, 2);
  EXPECT_EQ(nanhunt({"repro", "--runs", "/nowhere/a", "/nowhere/b"}).status, 3);
  EXPECT_EQ(nanhunt({"repro", clock_case().string(), "--again", "--upgrade"}).status, 2);
}

}  // namespace
}  // namespace nanhunt::e2e
