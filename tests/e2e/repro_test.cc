// SPDX-License-Identifier: Apache-2.0
// `nanhunt repro` on cases that break a level: the right one is named, with its first evidence, and
// the twin without the fault is equal at all of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/reported.h"
#include "tests/e2e/verdict_json.h"
#include "tests/support/scratch_folder.h"

namespace nanhunt::e2e {
namespace {

using testing::HasSubstr;

struct Broken {
  const char* name;
  const char* state;         // verdict
  const char* replay;        // verdict
  const char* evidence_of;   // level
  const char* evidence;      // part of it
  const char* implies = "";  // of that level
};

void PrintTo(const Broken& broken, std::ostream* out) {
  *out << broken.name;
}

class ReproCases : public testing::TestWithParam<Broken> {
 protected:
  fs::path file() const {
    return cases_folder() / "resume" / (std::string(GetParam().name) + ".case");
  }
};

TEST_P(ReproCases, BreakTheirLevel) {
  const Reported reported = repro(file(), {});
  EXPECT_EQ(reported.status, 1) << reported.errors;
  EXPECT_EQ(reported.verdicts.at("state"), GetParam().state) << reported.evidence.at("state");
  EXPECT_EQ(reported.verdicts.at("replay"), GetParam().replay) << reported.evidence.at("replay");
  EXPECT_THAT(reported.evidence.at(GetParam().evidence_of), HasSubstr(GetParam().evidence));
  EXPECT_THAT(reported.implies.at(GetParam().evidence_of), HasSubstr(GetParam().implies));
}

TEST_P(ReproCases, AreEqualWithoutTheFault) {
  const Reported reported = repro(file(), {"--healthy"});
  EXPECT_EQ(reported.status, 0) << reported.errors;
  EXPECT_EQ(reported.verdicts.at("state"), "equal") << reported.evidence.at("state");
  EXPECT_EQ(reported.verdicts.at("replay"), "equal") << reported.evidence.at("replay");
}

INSTANTIATE_TEST_SUITE_P(
    Resume, ReproCases,
    testing::Values(
        Broken{"b19_values_not_gathered", "different", "different", "state",
               "param in B: ranks 0 and 2 have copies of it that differ", "replay and convergence"},
        Broken{"b32_masters_from_values", "different", "different", "state", "master differs in",
               "replay and convergence"},
        Broken{"b33_step_not_restored", "different", "different", "state",
               "optimizer step is 2 in A, 0 in B", "replay and convergence"},
        Broken{"b34_data_from_start", "equal", "different", "replay", "tokens",
               "data, RNG, kernels"},
        Broken{"b35_loader_draws", "equal", "different", "replay", "mask", "data, RNG, kernels"},
        Broken{"b36_masks_redrawn", "equal", "different", "replay", "mask", "data, RNG, kernels"},
        Broken{"frozen_moment_lost", "different", "equal", "state",
               "pooler.weight exp_avg is all zero in B", "do not read what differs"}));

// Runs of several seeds: the level that no single step breaks, and its twin.
TEST(ReproConvergence, ABiasThatNoStepShowsIsInTheCurves) {
  const fs::path file = cases_folder() / "resume" / "weights_rounded_to_zero.case";
  const Reported broken = repro(file, {});
  EXPECT_EQ(broken.status, 1) << broken.errors;
  EXPECT_EQ(broken.verdicts.at("state"), "equal") << broken.evidence.at("state");
  EXPECT_EQ(broken.verdicts.at("replay"), "within") << broken.evidence.at("replay");
  EXPECT_EQ(broken.verdicts.at("convergence"), "different") << broken.evidence.at("convergence");
  EXPECT_THAT(broken.evidence.at("convergence"), HasSubstr("late_loss: different"));
  EXPECT_THAT(broken.implies.at("convergence"), HasSubstr("a bias too small for one step"));
  EXPECT_THAT(broken.errors, HasSubstr("5 pairs (seeds 1 to 5) and 5 A/A pairs (seeds 6 to 10) of "
                                       "24 steps: 20 runs"));
  EXPECT_LT(broken.errors.find("thresholds of convergence"), broken.errors.find("side A"));
  const Reported healthy = repro(file, {"--healthy"});
  EXPECT_EQ(healthy.status, 0) << healthy.errors;
  EXPECT_EQ(healthy.verdicts.at("replay"), "within") << healthy.evidence.at("replay");
  EXPECT_EQ(healthy.verdicts.at("convergence"), "within") << healthy.evidence.at("convergence");
}

// Straight against resumed: the same bits, so that any margin holds; and a defect after a report
// that the loss of each seed shows.
TEST(ReproConvergence, ResumedRunsAreJudgedFromWhereTheyBegin) {
  const fs::path file = cases_folder() / "resume" / "b33_step_not_restored.case";
  const std::vector<std::string> three{"--seeds=3", "--margin=1e-4", "--curve-steps=8",
                                       "--metrics=whole_loss"};
  const Reported broken = repro(file, three);
  EXPECT_EQ(broken.verdicts.at("convergence"), "different") << broken.evidence.at("convergence");
  EXPECT_EQ(broken.implies.at("convergence"), "expected: the state differs");
  std::vector<std::string> twin = three;
  twin.push_back("--healthy");
  const Reported healthy = repro(file, twin);
  EXPECT_EQ(healthy.status, 0) << healthy.errors;
  EXPECT_EQ(healthy.verdicts.at("convergence"), "within") << healthy.evidence.at("convergence");
  EXPECT_THAT(healthy.evidence.at("convergence"), HasSubstr("[0, 0]"));
}

struct Layouts {
  const char* name;
  std::vector<std::string> from, into;
};

void PrintTo(const Layouts& layouts, std::ostream* out) {
  *out << layouts.name;
}

class ReproLayoutPairs : public testing::TestWithParam<Layouts> {};

// The first loss, gradient and clipped gradient are inside the envelope of perturbed runs; what the
// optimizer makes of them is inside the bounds of its rules.
TEST_P(ReproLayoutPairs, AreWithin) {
  std::vector<std::string> words{"--healthy", "--layouts"};
  for (const std::string& toggle : GetParam().from) words.push_back("--set=parallel." + toggle);
  for (const std::string& toggle : GetParam().into)
    words.push_back("--set-reference=parallel." + toggle);
  const Reported reported = repro(cases_folder() / "resume" / "b33_step_not_restored.case", words);
  EXPECT_EQ(reported.status, 0) << reported.errors;
  EXPECT_EQ(reported.verdicts.at("state"), "equal");
  EXPECT_EQ(reported.verdicts.at("replay"), "within") << reported.evidence.at("replay");
  for (const char* phase : {"loss: ", "backward: ", "clipped: "})
    EXPECT_THAT(reported.evidence.at("replay"), HasSubstr(phase));
}

INSTANTIATE_TEST_SUITE_P(All, ReproLayoutPairs,
                         testing::Values(Layouts{"tp4_into_tp2_dp2", {"tp=4"}, {"tp=2", "dp=2"}},
                                         Layouts{"tp4_into_one", {"tp=4"}, {}},
                                         Layouts{"tp2_dp2_into_tp4", {"tp=2", "dp=2"}, {"tp=4"}},
                                         Layouts{"tp2_dp2_into_one", {"tp=2", "dp=2"}, {}},
                                         Layouts{"one_into_tp4", {"tp=1"}, {"tp=4"}},
                                         Layouts{"one_into_tp2_dp2", {"tp=1"}, {"tp=2", "dp=2"}}));

TEST(ReproLayouts, AFaultOfTheLayoutIsOutOfIt) {
  const Reported reported =
      repro(cases_folder() / "b04_row_bias_on_every_rank.case", {"--layouts", "--steps=2"});
  EXPECT_EQ(reported.status, 1) << reported.errors;
  EXPECT_EQ(reported.verdicts.at("state"), "equal") << reported.evidence.at("state");
  EXPECT_EQ(reported.verdicts.at("replay"), "different") << reported.evidence.at("replay");
  EXPECT_THAT(reported.evidence.at("replay"), HasSubstr("linear_proj"));
}

// Norm weights whose gradients were never summed have drifted apart before the state is saved.
TEST(ReproState, RanksThatDisagreeAreTheFinding) {
  const Reported reported = repro(cases_folder() / "b01_norm_grad_not_summed.case", {"--steps=2"});
  EXPECT_EQ(reported.status, 1) << reported.errors;
  EXPECT_EQ(reported.verdicts.at("state"), "different");
  EXPECT_EQ(reported.verdicts.at("replay"), "not judged");
  EXPECT_THAT(reported.evidence.at("state"),
              HasSubstr("layernorm.weight master: ranks 0 and 1 have copies of it that differ"));
}

// All runs of a hunt go on from the capsule that the case names: the fault of a late step is found
// without the steps before.
class CaseFromACapsule : public testing::Test {
 protected:
  void SetUp() override {
    const std::string mini = (build_folder() / "cases/mini/mini").string();
    const Ended saved = run({mini, "--tp=2", "--steps=40", "--capsule-every=40",
                             "--capsules=" + (folder_ / "capsules").string()});
    ASSERT_EQ(saved.status, 0) << saved.errors;
    write(folder_ / "late.case",
          "subject = " + (cases_folder() / "mini.subject").string() +
              "\ncapsule = capsules@40\nsteps = 42\nlevel = stats\n"
              "[set]\nparallel.tp = 2\n"
              "[fault]\nname = row_bias_on_every_rank\nlayer = 1\nstep = 41\n");
  }
  Hunted hunted(const std::vector<std::string>& more) { return hunt(folder_ / "late.case", more); }

  ScratchFolder folder_;
};

TEST_F(CaseFromACapsule, TheLateStepIsFound) {
  const Hunted hunted = this->hunted({});
  EXPECT_EQ(hunted.kind, "divergence") << hunted.describe();
  EXPECT_EQ(hunted.step, 41);
}

TEST_F(CaseFromACapsule, ItsTwinIsClean) {
  const Hunted hunted = this->hunted({"--healthy"});
  EXPECT_EQ(hunted.kind, "clean") << hunted.describe();
}

TEST(ReproRefuses, ASubjectWithoutCapsules) {
  const ScratchFolder folder;
  const Ended ended = nanhunt({"repro", (cases_folder() / "shared_code" / "healthy.case").string(),
                               "--steps=2", "--out", (folder / "work").string()});
  EXPECT_EQ(ended.status, 2);
  EXPECT_THAT(ended.errors, HasSubstr("has no `capsules =`: its runs cannot be saved"));
}

// A NaN that both runs have at one place is a failure, and the same run all the same.
TEST(ReproReplay, AFailureThatRepeatsIsEqual) {
  const Reported reported = repro(cases_folder() / "one_rank_nan.case", {"--steps=2"});
  EXPECT_EQ(reported.status, 0) << reported.errors;
  EXPECT_EQ(reported.verdicts.at("replay"), "equal") << reported.evidence.at("replay");
}

TEST(ReproRefuses, CurvesThatCannotBeMade) {
  const ScratchFolder folder;
  const std::string file = (cases_folder() / "resume" / "b33_step_not_restored.case").string();
  const std::vector<std::pair<std::vector<std::string>, std::string>> refused = {
      {{"--margin=2sd"}, "--margin needs --seeds"},
      {{"--seeds=5"}, "needs --margin, fixed before a curve is looked at"},
      {{"--seeds=1", "--margin=1"}, "one pair alone shows no spread"},
      {{"--seeds=5", "--margin=2sd", "--same=1"}, "1 A/A pairs"},
      {{"--seeds=5", "--margin=0"}, "the margin of early_loss is 0"},
      {{"--seeds=5", "--margin=1", "--at=3", "--curve-steps=3"},
       "step 3 is not inside the 3 steps"},
  };
  for (const auto& [words, message] : refused) {
    std::vector<std::string> all{"repro", file, "--out", (folder / "work").string()};
    all.insert(all.end(), words.begin(), words.end());
    const Ended ended = nanhunt(all);
    EXPECT_EQ(ended.status, 2) << message;
    EXPECT_THAT(ended.errors, HasSubstr(message));
    EXPECT_FALSE(fs::exists(folder / "work" / "runs")) << "a run was made: " << message;
  }
}

TEST(ReproRefuses, AStepThatIsNotInsideTheCase) {
  const ScratchFolder folder;
  const Ended ended =
      nanhunt({"repro", (cases_folder() / "resume" / "b33_step_not_restored.case").string(),
               "--at=4", "--out", (folder / "work").string()});
  EXPECT_EQ(ended.status, 2);
  EXPECT_THAT(ended.errors, HasSubstr("step 4 is not inside the case's 4 steps"));
}

}  // namespace
}  // namespace nanhunt::e2e
