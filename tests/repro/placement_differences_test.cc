// SPDX-License-Identifier: Apache-2.0
// The same name, held otherwise: another shape is another state, another way to keep it is not.
#include "repro/placement_differences.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <span>

#include "tests/capsule/small_capsule.h"
#include "tests/support/scratch_folder.h"

namespace nanhunt::repro {
namespace {

using capsule::Capsule;
using capsule::test::Edit;
using capsule::test::index_of;
using capsule::test::print_again;
using capsule::test::write_capsule;
using testing::HasSubstr;
using testing::IsEmpty;

// Gives the bias these values and this placement.
Edit with_bias(const std::function<std::vector<float>(int32_t rank)>& values,
               const std::function<trace::Placement(int32_t rank)>& placement) {
  return [=](trace::Segment& segment) {
    const size_t i = index_of(segment, "bias", "param");
    const auto floats = values(segment.rank);
    const auto bytes = std::as_bytes(std::span(floats));
    segment.values[i].assign(bytes.begin(), bytes.end());
    segment.records[i].local_shape = {static_cast<int64_t>(floats.size())};
    segment.records[i].placement =
        std::make_shared<const trace::Placement>(placement(segment.rank));
    print_again(segment, i);
  };
}

class Placements : public testing::Test {
 protected:
  std::vector<PlacementDifference> differences(const capsule::test::Layout& of_b,
                                               const Edit& in_b = {}) {
    write_capsule(a_.path(), {.tp = 2}, 0);
    write_capsule(b_.path(), of_b, 0, in_b);
    return compare_placements(Capsule(a_.path()), Capsule(b_.path()));
  }

  ScratchFolder a_, b_;
};

TEST_F(Placements, AreTheSameWhereOnlyTheMeshIsAnother) {
  EXPECT_THAT(differences({.tp = 2}), IsEmpty());
  std::filesystem::remove_all(b_.path());
  EXPECT_THAT(differences({.tp = 4}), IsEmpty());
}

TEST_F(Placements, MoreRowsAreAnotherState) {
  const auto whole = [](int32_t) { return trace::whole({"out"}, {10}); };
  const auto grown = differences(
      {.tp = 2},
      with_bias([](int32_t) { return std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 0, 0}; }, whole));
  ASSERT_EQ(grown.size(), 1u);
  EXPECT_EQ(grown[0].tensors, "decoder.layers.0.mlp.linear_fc1.bias param");
  EXPECT_EQ(grown[0].what, "is fp32 [8] in A, fp32 [10] in B; the first 8 rows are equal");
  EXPECT_TRUE(grown[0].of_state);
  std::filesystem::remove_all(b_.path());
  const auto redrawn = differences(
      {.tp = 2},
      with_bias([](int32_t) { return std::vector<float>{9, 2, 3, 4, 5, 6, 7, 8, 0, 0}; }, whole));
  ASSERT_EQ(redrawn.size(), 1u);
  EXPECT_THAT(redrawn[0].what, HasSubstr("the first 8 rows differ"));
}

TEST_F(Placements, PaddingIsNone) {
  const auto padded = differences(
      {.tp = 2}, with_bias([](int32_t) { return std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 0, 0}; },
                           [](int32_t) { return trace::whole({"out"}, {8}); }));
  ASSERT_EQ(padded.size(), 1u);
  EXPECT_EQ(padded[0].what, "has 0 padding cells in A, 4 in B");
  EXPECT_FALSE(padded[0].of_state);
}

TEST_F(Placements, AShardedTensorIsToldFromCopies) {
  const auto half = [](int32_t rank) {
    return rank == 0 ? std::vector<float>{1, 2, 3, 4} : std::vector<float>{5, 6, 7, 8};
  };
  const auto sharded =
      differences({.tp = 2}, with_bias(half, [](int32_t rank) {
                    auto placement = trace::whole({"out"}, {8});
                    placement.regions = {{{0}, {4 * rank}, {4}}};
                    placement.mesh = {{trace::MeshAxis::kTp, trace::PlacementKind::kShard}};
                    return placement;
                  }));
  ASSERT_EQ(sharded.size(), 1u);
  EXPECT_EQ(sharded[0].what, "over tp is replicated in A, shard in B");
  EXPECT_FALSE(sharded[0].of_state);
}

TEST_F(Placements, LayersAlikeAreOneLine) {
  const auto other_dimension = differences({.tp = 2, .dimension = 1});
  ASSERT_EQ(other_dimension.size(), 4u);  // roles
  EXPECT_EQ(other_dimension[0].tensors,
            "decoder.layers.0.mlp.linear_fc1.weight exp_avg and 1 like it");
  EXPECT_EQ(other_dimension[0].what, "is cut along dimension 0 in A, 1 in B");
}

}  // namespace
}  // namespace nanhunt::repro
