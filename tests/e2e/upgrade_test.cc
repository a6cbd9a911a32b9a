// SPDX-License-Identifier: Apache-2.0
// Build against build: what a new release does otherwise is found at its level and in its part, and
// a new release that does nothing otherwise is equal at all of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/reported.h"

namespace nanhunt::e2e {
namespace {

using testing::AllOf;
using testing::HasSubstr;

fs::path upgrade(const std::string& name) {
  return cases_folder() / "upgrade" / (name + ".case");
}

TEST(Upgrade, AReleaseThatIsTheSameIsEqual) {
  const Reported reported = repro(upgrade("norm_eps_default"), {"--healthy"});
  EXPECT_EQ(reported.status, 0) << reported.errors;
  for (const auto& [level, verdict] : reported.verdicts) {
    const bool is_open = level == "convergence";
    // It says that it is another release, which is told and not judged.
    const bool told = level == "replay, configuration";
    EXPECT_EQ(verdict, is_open ? "not judged"
                       : told  ? "within"
                               : "equal")
        << level << "\n"
        << reported.evidence.at(level);
  }
  EXPECT_EQ(reported.evidence.at("replay, configuration"), "release is 1 in A, 2 in B\n");
  EXPECT_THAT(reported.evidence.at("replay, parameters alone"),
              HasSubstr("no difference to carry"));
  EXPECT_THAT(reported.evidence.at("state, round trip"),
              AllOf(HasSubstr("A to B: 92 of 92 tensors"), HasSubstr("B to A: 92 of 92 tensors")));
}

TEST(Upgrade, AnotherDefaultIsTheConfigurations) {
  const Reported reported = repro(upgrade("norm_eps_default"), {});
  EXPECT_EQ(reported.status, 1) << reported.errors;
  EXPECT_EQ(reported.verdicts.at("state"), "equal");
  EXPECT_EQ(reported.verdicts.at("replay"), "different") << reported.evidence.at("replay");
  EXPECT_EQ(reported.verdicts.at("replay, configuration"), "different");
  EXPECT_THAT(reported.evidence.at("replay, configuration"),
              HasSubstr("rms_norm.eps is 1e-05 in A, 1e-06 in B"));
  EXPECT_THAT(reported.evidence.at("replay, parameters alone"), HasSubstr("the step itself"));
}

TEST(Upgrade, ARenamedParameterIsNamed) {
  const Reported reported = repro(upgrade("parameter_renamed"), {});
  EXPECT_EQ(reported.status, 1) << reported.errors;
  EXPECT_EQ(reported.verdicts.at("state"), "different") << reported.evidence.at("state");
  EXPECT_THAT(reported.evidence.at("state"), HasSubstr("B does not go on from it: exit status 3"));
  EXPECT_EQ(reported.verdicts.at("replay"), "not judged");
  EXPECT_EQ(reported.verdicts.at("replay, configuration"), "within");
  EXPECT_THAT(reported.evidence.at("state, names"), HasSubstr("mlp.up_proj.weight in B"));
}

TEST(Upgrade, AForgottenOptimizerIsCarriedByIt) {
  const Reported reported = repro(upgrade("optimizer_not_loaded"), {});
  EXPECT_EQ(reported.status, 1) << reported.errors;
  EXPECT_EQ(reported.verdicts.at("state"), "different");
  EXPECT_THAT(reported.evidence.at("state"), HasSubstr("exp_avg is all zero in B"));
  EXPECT_EQ(reported.verdicts.at("state, parameters alone"), "equal");
  EXPECT_EQ(reported.verdicts.at("replay, parameters alone"), "equal");
  EXPECT_THAT(reported.evidence.at("replay, parameters alone"),
              HasSubstr("what the optimizer keeps (masters, moments, counters) carries it"));
  EXPECT_THAT(reported.evidence.at("state, round trip"),
              HasSubstr("A to B: optimizer step is 2 in A, 0 in B"));
}

// A vocabulary that was rounded up: another shape, no fault of the program.
TEST(Upgrade, AGrownVocabularyIsThePlacements) {
  const Reported reported =
      repro(upgrade("norm_eps_default"), {"--healthy", "--set=model.vocabulary=320"});
  EXPECT_EQ(reported.status, 1) << reported.errors;
  EXPECT_EQ(reported.verdicts.at("state"), "different") << reported.evidence.at("state");
  EXPECT_EQ(reported.verdicts.at("state, placements"), "different");
  EXPECT_THAT(reported.evidence.at("state, placements"),
              HasSubstr("embedding.word_embeddings.weight param is fp32 [256, 64] in A, fp32 [320, "
                        "64] in B; the first 256 rows are equal"));
}

// Another layout on top: bits cannot be held, the envelope is.
TEST(Upgrade, BuildsOfTwoLayoutsAreInsideTheEnvelope) {
  const Reported reported =
      repro(upgrade("norm_eps_default"), {"--healthy", "--set=parallel.tp=2"});
  EXPECT_EQ(reported.status, 0) << reported.errors;
  EXPECT_EQ(reported.verdicts.at("state"), "equal");
  EXPECT_EQ(reported.verdicts.at("replay"), "within") << reported.evidence.at("replay");
  EXPECT_EQ(reported.verdicts.at("replay, round trip"), "equal");
}

}  // namespace
}  // namespace nanhunt::e2e
