// SPDX-License-Identifier: Apache-2.0
// How small a fault is found: at tensor parallelism 2 in BF16, one row of 1024, two rows, one
// element or one shard is wrong. With values (level full) each is found where it is; what
// statistics alone find is the table in docs/cases.md, section "How small a fault is found".
#include <gtest/gtest.h>

#include <regex>

#include "tests/e2e/verdict_json.h"

namespace nanhunt::e2e {
namespace {

struct Graded {
  std::string name;
  std::string full, stats;  // place of the leading origin behind the layer
};

const std::string kProj = "self_attention.linear_proj ";
const std::vector<Graded> kGraded = {
    {"one_row", kProj + "post_collective output", kProj + "post_collective output"},
    {"two_rows", kProj + "forward output", kProj + "backward grad_output"},
    {"one_element", kProj + "forward output", kProj + "forward output"},
    {"one_shard", "mlp.linear_fc1 forward output", "mlp.linear_fc1 forward output"}};

std::string layer_less(const std::string& place) {
  return std::regex_replace(place, std::regex("^decoder\\.layers\\.[01]\\."), "");
}

Hunted hunt_at(const Graded& graded, const std::string& level,
               const std::vector<std::string>& more = {}) {
  std::vector<std::string> words = {"--level", level};
  words.insert(words.end(), more.begin(), more.end());
  return hunt(cases_folder() / "graded" / (graded.name + ".case"), words);
}

class GradedFault : public testing::TestWithParam<Graded> {};

#ifdef NANHUNT_E2E_ALL
TEST_P(GradedFault, IsFoundByStatisticsWhereTheTableSays) {
  const Hunted hunted = hunt_at(GetParam(), "stats");
  EXPECT_EQ(hunted.kind, "divergence") << hunted.describe();
  EXPECT_EQ(layer_less(hunted.place()), GetParam().stats) << hunted.describe();
}

// What statistics find at another place, or less surely, the second look finds where it is.
TEST_P(GradedFault, IsFoundAtAutoWhereValuesFindIt) {
  const Hunted hunted = hunt_at(GetParam(), "auto");
  EXPECT_EQ(hunted.kind, "divergence") << hunted.describe();
  EXPECT_EQ(layer_less(hunted.place()), GetParam().full) << hunted.describe();
}

TEST(GradedTwin, IsCleanAtAuto) {
  const Hunted hunted = hunt_at(kGraded.front(), "auto", {"--healthy"});
  EXPECT_EQ(hunted.kind, "clean") << hunted.describe();
}
#else
TEST_P(GradedFault, IsFoundByValues) {
  const Hunted hunted = hunt_at(GetParam(), "full");
  EXPECT_EQ(hunted.kind, "divergence") << hunted.describe();
  EXPECT_EQ(layer_less(hunted.place()), GetParam().full) << hunted.describe();
}

// The must-fail twin.
TEST(GradedTwin, IsClean) {
  const Hunted hunted = hunt_at(kGraded.front(), "full", {"--healthy"});
  EXPECT_EQ(hunted.kind, "clean") << hunted.describe();
}
#endif

INSTANTIATE_TEST_SUITE_P(Faults, GradedFault, testing::ValuesIn(kGraded),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace nanhunt::e2e
