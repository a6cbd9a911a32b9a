// SPDX-License-Identifier: Apache-2.0
#include "trace/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace nanhunt::trace {
namespace {

using ::testing::HasSubstr;

// Columns 4..7 of a [3, 8] tensor, held transposed as [4, 3].
Placement transposed_slice() {
  Placement placement;
  placement.axes = {"token", "channel"};
  placement.logical_shape = {3, 8};
  placement.to_logical = {1, 0};
  placement.mesh = {{MeshAxis::kTp, PlacementKind::kShard, ReduceOp::kSum, 1.0}};
  placement.regions = {{{0, 0}, {0, 4}, {3, 4}}};
  return placement;
}

TEST(Placement, WholeIsCoherent) {
  const Placement placement = whole({"a", "b"}, {3, 4});
  EXPECT_EQ(placement_fault(placement, {3, 4}), "");
  EXPECT_FALSE(is_unknown(placement));
  EXPECT_THAT(placement_fault(placement, {3, 3}), HasSubstr("region 0"));
  EXPECT_EQ(placement_fault(whole({}, {}), {}), "");
}

TEST(Placement, PermutedSliceIsCoherentForItsOwnShapeOnly) {
  EXPECT_EQ(placement_fault(transposed_slice(), {4, 3}), "");
  EXPECT_THAT(placement_fault(transposed_slice(), {3, 4}), HasSubstr("local dimension 0"));
}

TEST(Placement, FaultsAreNamed) {
  Placement placement = transposed_slice();
  placement.to_logical = {1, 1};
  EXPECT_THAT(placement_fault(placement, {4, 3}), HasSubstr("twice"));
  placement = transposed_slice();
  placement.to_logical = {1, 2};
  EXPECT_THAT(placement_fault(placement, {4, 3}), HasSubstr("dimension 2"));
  placement = transposed_slice();
  placement.regions[0].logical_start = {0, 5};
  EXPECT_THAT(placement_fault(placement, {4, 3}), HasSubstr("logical dimension 1"));
  placement = transposed_slice();
  placement.regions[0].local_start = {0, -1};
  EXPECT_THAT(placement_fault(placement, {4, 3}), HasSubstr("local dimension 1"));
  placement = transposed_slice();
  placement.regions[0].extent = {3};
  EXPECT_THAT(placement_fault(placement, {4, 3}), HasSubstr("one entry a dimension"));
  placement = transposed_slice();
  placement.axes = {"token"};
  EXPECT_THAT(placement_fault(placement, {4, 3}), HasSubstr("1 axis names"));
  placement = transposed_slice();
  placement.mesh.push_back(placement.mesh[0]);
  EXPECT_THAT(placement_fault(placement, {4, 3}), HasSubstr("tp is named twice"));
}

TEST(Placement, OverlappingRegionsAreNamed) {
  Placement placement = whole({}, {6, 4});
  placement.regions = {
      {{0, 0}, {0, 0}, {3, 4}}, {{5, 0}, {3, 0}, {1, 4}}, {{3, 0}, {4, 0}, {2, 4}}};
  EXPECT_EQ(placement_fault(placement, {6, 4}), "");
  placement.regions[2].local_start = {4, 0};
  EXPECT_THAT(placement_fault(placement, {6, 4}), HasSubstr("regions 1 and 2 overlap"));
  placement.regions[2].extent = {1, 4};
  EXPECT_EQ(placement_fault(placement, {6, 4}), "");
}

TEST(Placement, DimensionsThatAreNotHeldLocallyHaveLengthOne) {
  Placement placement;  // tokens 2..4 of sample 1, held as [3, 4]
  placement.logical_shape = {2, 8, 4};
  placement.to_logical = {1, 2};
  placement.regions = {{{0, 0}, {1, 2, 0}, {1, 3, 4}}};
  EXPECT_EQ(placement_fault(placement, {3, 4}), "");
  placement.regions[0] = {{0, 0}, {0, 2, 0}, {2, 3, 4}};
  EXPECT_THAT(placement_fault(placement, {3, 4}), HasSubstr("does not have"));
}

TEST(Placement, FlatRangesAreInElements) {
  Placement placement;
  placement.logical_shape = {5, 7};
  placement.flat = true;
  placement.regions = {{{2}, {30}, {5}}};
  EXPECT_EQ(placement_fault(placement, {8}), "");
  placement.regions[0].extent = {6};
  EXPECT_THAT(placement_fault(placement, {8}), HasSubstr("logical"));
}

TEST(Placement, NothingIsGuessedAsReplicated) {
  Placement placement = transposed_slice();
  EXPECT_EQ(on_axis(placement, MeshAxis::kTp).kind, PlacementKind::kShard);
  EXPECT_EQ(on_axis(placement, MeshAxis::kDp).kind, PlacementKind::kReplicated);
  placement.mesh.push_back({MeshAxis::kCp, PlacementKind::kUnknown, ReduceOp::kSum, 1.0});
  EXPECT_TRUE(is_unknown(placement));
  EXPECT_EQ(on_axis(placement, MeshAxis::kDp).kind, PlacementKind::kUnknown);
  EXPECT_TRUE(is_unknown(Placement()));
  EXPECT_EQ(placement_fault(Placement(), {3, 4}), "");
}

TEST(Placement, Names) {
  EXPECT_EQ(name_of(PlacementKind::kTokenMap), "token_map");
  EXPECT_EQ(name_of(ReduceOp::kProduct), "product");
}

}  // namespace
}  // namespace nanhunt::trace
