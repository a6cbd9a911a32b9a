// SPDX-License-Identifier: Apache-2.0
#include "trace/vocabulary.h"

#include <gtest/gtest.h>

#include <set>

namespace nanhunt::trace {
namespace {

TEST(Vocabulary, PhasesAreNamedOnceAndInTheOrderOfAStep) {
  std::set<std::string_view> names;
  int previous = -1;
  for (Phase phase : all_phases()) {
    EXPECT_GT(static_cast<int>(phase), previous);
    previous = static_cast<int>(phase);
    EXPECT_TRUE(names.insert(name_of(phase)).second) << name_of(phase);
    EXPECT_EQ(phase_from_name(name_of(phase)), phase);
  }
  EXPECT_EQ(names.size(), 9u);
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
  EXPECT_DEATH(name_of(static_cast<Phase>(9)), "broken invariant");
}

}  // namespace
}  // namespace nanhunt::trace
