// SPDX-License-Identifier: Apache-2.0
#include "trace/vocabulary.h"

#include <gtest/gtest.h>

#include <set>

namespace nanhunt::trace {
namespace {

// The state comes before what is done with it; the numbers of the others are in their order.
TEST(Vocabulary, PhasesAreNamedOnceAndInTheOrderOfAStep) {
  std::set<std::string_view> names;
  int previous = -1;
  EXPECT_EQ(all_phases().front(), Phase::kState);
  for (Phase phase : all_phases()) {
    if (phase != Phase::kState) {
      EXPECT_GT(static_cast<int>(phase), previous);
      previous = static_cast<int>(phase);
    }
    EXPECT_TRUE(names.insert(name_of(phase)).second) << name_of(phase);
    EXPECT_EQ(phase_from_name(name_of(phase)), phase);
  }
  EXPECT_EQ(names.size(), 10u);
  EXPECT_EQ(phase_from_name("Forward"), std::nullopt);
  EXPECT_EQ(phase_from_name(""), std::nullopt);
}

TEST(Vocabulary, MeshAxesGoBothWays) {
  for (int i = 0; i < kMeshAxes; ++i) {
    const auto axis = static_cast<MeshAxis>(i);
    EXPECT_EQ(mesh_axis_from_name(name_of(axis)), axis);
  }
  EXPECT_EQ(name_of(MeshAxis::kMicrobatch), "mb");
  EXPECT_EQ(mesh_axis_from_name("sp"), std::nullopt);
}

TEST(Vocabulary, OtherWords) {
  EXPECT_EQ(name_of(Lane::kAutograd), "autograd");
  EXPECT_EQ(name_of(LinkGrade::kDeclared), "declared");
  EXPECT_EQ(level_from_name("full"), Level::kFull);
  EXPECT_EQ(level_from_name(name_of(Level::kStats)), Level::kStats);
  EXPECT_EQ(level_from_name("auto"), std::nullopt);
}

TEST(VocabularyDeathTest, ANumberOutsideTheListIsABrokenInvariant) {
  EXPECT_DEATH(name_of(static_cast<Phase>(10)), "broken invariant");
}

}  // namespace
}  // namespace nanhunt::trace
