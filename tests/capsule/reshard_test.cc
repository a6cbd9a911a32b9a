// SPDX-License-Identifier: Apache-2.0
// Any layout into any other, and back.
#include <gtest/gtest.h>

#include <cstring>
#include <span>

#include "capsule/load.h"
#include "tests/capsule/small_capsule.h"
#include "tests/support/scratch_folder.h"

namespace nanhunt::capsule::test {
namespace {

constexpr const char* kMatrix = "decoder.layers.0.mlp.linear_fc1.weight";

const Layout kLayouts[] = {
    {},
    {.tp = 4},
    {.tp = 2, .dp = 2},
    {.tp = 4, .dimension = 1},
    {.tp = 2, .dp = 2, .dimension = 1},
    {.dp = 4, .flat = true},  // ranges of the flattened tensor, which cut rows
    {.tp = 2, .dp = 4, .flat = true},
};

std::vector<float> loaded(const Capsule& capsule, const Layout& layout, int32_t rank,
                          const std::string& role) {
  const Wanted wanted{kMatrix, role, trace::DType::kFloat32, local_shape(layout),
                      std::make_shared<const trace::Placement>(matrix_placement(layout, rank))};
  const Plan plan = plan_load(capsule, {wanted}, rank, false);
  EXPECT_TRUE(plan.obstacles().empty());
  std::vector<float> values(piece_of(layout, rank, role).size());
  load(capsule, wanted, plan.tensors[0], std::as_writable_bytes(std::span(values)));
  return values;
}

class Reshard : public testing::TestWithParam<std::tuple<int, int>> {};

TEST_P(Reshard, EachRankGetsItsPiece) {
  const Layout &from = kLayouts[std::get<0>(GetParam())], &to = kLayouts[std::get<1>(GetParam())];
  const ScratchFolder folder;
  write_capsule(folder.path(), from, 4);
  const Capsule capsule(folder.path());
  for (int32_t rank = 0; rank < to.world(); ++rank) {
    for (const char* role : {"param", "exp_avg_sq"})
      EXPECT_EQ(loaded(capsule, to, rank, role), piece_of(to, rank, role))
          << role << " of rank " << rank;
  }
}

INSTANTIATE_TEST_SUITE_P(Layouts, Reshard,
                         testing::Combine(testing::Range(0, 7), testing::Range(0, 7)));

// A region that is shifted by one element is loaded shifted, so the test above sees it.
TEST(ReshardTwin, ARegionOffByOneGivesOtherValues) {
  const ScratchFolder folder;
  const Layout from{.tp = 2, .dp = 2};
  write_capsule(folder.path(), from, 4, [](trace::Segment& segment) {
    const size_t i = index_of(segment, "weight", "param");
    auto& bytes = segment.values[i];
    std::memmove(bytes.data() + sizeof(float), bytes.data(), bytes.size() - sizeof(float));
    print_again(segment, i);
  });
  const Capsule capsule(folder.path());
  EXPECT_NE(loaded(capsule, {.tp = 4}, 1, "param"), piece_of({.tp = 4}, 1, "param"));
  EXPECT_EQ(loaded(capsule, {.tp = 4}, 1, "master"), piece_of({.tp = 4}, 1, "master"));
}

}  // namespace
}  // namespace nanhunt::capsule::test
