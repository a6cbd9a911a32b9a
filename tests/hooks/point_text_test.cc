// SPDX-License-Identifier: Apache-2.0
// Points and facts as text: what is understood, and that what is not is refused by name.
#include "hooks/torch_ops/point_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nanhunt::hooks {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;
using trace::MeshAxis;
using trace::PlacementKind;

TEST(PointText, PlacementOfAShard) {
  const TapPoint point = parse_point(R"({"site": "layers.0.mlp", "phase": "backward",
      "role": "grad_output", "op": "Linear", "attributes": {"eps": 0.5}, "copied": true,
      "placement": {"axes": ["sample", "channel"], "shape": [8, 64], "to_logical": [1, 0],
                    "mesh": {"tp": "shard", "dp": ["partial", "sum", 2.0]},
                    "regions": [[[0, 0], [4, 32], [4, 32]]]}})");
  EXPECT_EQ(point.site, "layers.0.mlp");
  EXPECT_EQ(point.phase, trace::Phase::kBackward);
  EXPECT_EQ(point.attributes, R"({"eps":0.5})");
  EXPECT_TRUE(point.copied);
  ASSERT_NE(point.placement, nullptr);
  EXPECT_THAT(point.placement->to_logical, ElementsAre(1, 0));
  EXPECT_EQ(trace::on_axis(*point.placement, MeshAxis::kTp).kind, PlacementKind::kShard);
  EXPECT_EQ(trace::on_axis(*point.placement, MeshAxis::kDp).divisor, 2.0);
  EXPECT_THAT(point.placement->regions.at(0).logical_start, ElementsAre(4, 32));
}

TEST(PointText, WithoutAPlacementItIsUnknown) {
  EXPECT_EQ(parse_point(R"({"site": "x"})").placement, nullptr);
}

TEST(PointText, UnknownWordsAreRefusedByName) {
  EXPECT_THAT([] { parse_point(R"({"site": "x", "phase": "foreward"})"); },
              ThrowsMessage<std::invalid_argument>(HasSubstr("foreward")));
  EXPECT_THAT([] { parse_point("{}"); }, ThrowsMessage<std::invalid_argument>(HasSubstr("site")));
}

TEST(FactsText, MeshHoldsSizeAndCoordinate) {
  const trace::RunFacts facts = parse_run_facts(
      R"({"rank": 3, "world_size": 4, "mesh": {"tp": [2, 1]}, "facts": {"a": "b"}})");
  EXPECT_EQ(facts.rank, 3);
  EXPECT_EQ(facts.mesh_size[static_cast<size_t>(MeshAxis::kTp)], 2);
  EXPECT_EQ(facts.mesh_coordinate[static_cast<size_t>(MeshAxis::kTp)], 1);
  EXPECT_EQ(facts.facts.at("a"), "b");
}

TEST(FactsText, AnUnknownAxisIsRefused) {
  EXPECT_THROW(
      parse_run_facts(R"({"rank": 0, "world_size": 1, "mesh": {"zz": [1, 0]}, "facts": {}})"),
      std::invalid_argument);
}

}  // namespace
}  // namespace nanhunt::hooks
