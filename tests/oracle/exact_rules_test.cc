// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/oracle/step_builder.h"

namespace nanhunt::oracle::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using trace::MeshAxis;
using trace::Phase;
using trace::PlacementKind;

const trace::Placement kWhole = trace::whole({"token", "channel"}, {8, 16});

TEST(NonFinite, NamesTheRankThatHoldsIt) {
  StepBuilder run(mesh_facts(2, 1));
  auto values = normal_values(128, 1);
  run.add(0, Phase::kForward, "a", "output", values, kWhole);
  values[77] = std::numeric_limits<float>::infinity();
  run.add(1, Phase::kForward, "a", "output", values, kWhole);
  const auto findings = findings_of("non_finite", run, run.step());
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].ranks, ElementsAre(1));
  EXPECT_EQ(findings[0].measured, 1);
  EXPECT_TRUE(findings[0].which_known());
}

TEST(NonFinite, FiniteExtremesAndMasksPass) {
  StepBuilder run(mesh_facts(1, 1));
  auto values = normal_values(128, 1);
  values[3] = std::numeric_limits<float>::max();
  values[4] = -0.0f;
  values[5] = std::numeric_limits<float>::denorm_min();
  run.add(0, Phase::kForward, "a", "output", values, kWhole);
  values[6] = -std::numeric_limits<float>::infinity();
  run.add(0, Phase::kForward, "a", "mask", values, kWhole);
  EXPECT_THAT(findings_of("non_finite", run, run.step()), IsEmpty());
  run.add(0, Phase::kForward, "b", "output", values, kWhole);
  EXPECT_THAT(findings_of("non_finite", run, run.step()), SizeIs(1));
}

// Copies on `ranks` ranks, of which `odd` (when not negative) holds one other bit.
std::vector<Finding> copies(int ranks, int odd) {
  StepBuilder run(mesh_facts(ranks, 1));
  for (int rank = 0; rank < ranks; ++rank) {
    auto values = normal_values(128, 1);
    if (rank == odd) values[9] = std::nextafter(values[9], 10.0f);
    run.add(rank, Phase::kUnscaled, "norm.weight", "grad", values, kWhole);
  }
  return findings_of("replicas_equal", run, run.step());
}

TEST(ReplicasEqual, EqualCopiesPass) {
  EXPECT_THAT(copies(4, -1), IsEmpty());
}

TEST(ReplicasEqual, MajorityNamesTheOddOne) {
  const auto findings = copies(4, 2);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].ranks, ElementsAre(2));
  EXPECT_EQ(findings[0].decider, Decider::kMajority);
}

TEST(ReplicasEqual, TwoCopiesHaveNoDecider) {
  const auto findings = copies(2, 1);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].ranks, ElementsAre(0, 1));
  EXPECT_FALSE(findings[0].which_known());
  EXPECT_EQ(findings[0].group, "tp");
}

Finding of_first_values(const std::vector<float>& first_values) {
  StepBuilder run(mesh_facts(static_cast<int>(first_values.size()), 1));
  for (int rank = 0; rank < static_cast<int>(first_values.size()); ++rank) {
    run.add(rank, Phase::kUnscaled, "norm.weight", "grad",
            {first_values[static_cast<size_t>(rank)], 2}, trace::whole({"channel"}, {2}));
  }
  const auto found = findings_of("replicas_equal", run, run.step());
  return found.empty() ? Finding{} : found.front();
}

TEST(ReplicasEqual, ANanBesideEqualFiniteCopiesIsWrongByItself) {
  EXPECT_THAT(of_first_values({1, NAN}).ranks, ElementsAre(1));
  EXPECT_EQ(of_first_values({1, NAN}).decider, Decider::kItself);
  EXPECT_THAT(of_first_values({INFINITY, 1, NAN}).ranks, ElementsAre(0, 2));
  // The finite ones differ, too: which are right is open.
  EXPECT_THAT(of_first_values({1, NAN, 3}).ranks, ElementsAre(0, 1, 2));
  EXPECT_THAT(of_first_values({1, 2}).ranks, ElementsAre(0, 1));
}

TEST(ReplicasEqual, NamesTheAxesAlongWhichCopiesChange) {
  const auto group_of = [](const std::vector<float>& first_values) {
    StepBuilder builder(mesh_facts(2, 2));
    for (int rank = 0; rank < 4; ++rank) {
      builder.add(rank, Phase::kUnscaled, "norm.weight", "grad",
                  {first_values[static_cast<size_t>(rank)], 2}, trace::whole({"channel"}, {2}));
    }
    const auto found = findings_of("replicas_equal", builder, builder.step());
    return found.empty() ? std::string("none") : found.front().group;
  };
  EXPECT_EQ(group_of({1, 5, 1, 5}), "tp");  // rank = dp * 2 + tp
  EXPECT_EQ(group_of({1, 1, 5, 5}), "dp");
  EXPECT_EQ(group_of({1, 5, 6, 7}), "tp dp");
  EXPECT_EQ(group_of({1, 1, 1, 1}), "none");
}

TEST(ReplicasEqual, ShardsAndBatchesAreNoCopies) {
  StepBuilder run(mesh_facts(2, 1));
  for (int rank = 0; rank < 2; ++rank) {
    run.add(rank, Phase::kForward, "a", "output", normal_values(64, rank),
            slice({8, 16}, 1, rank, 2));
  }
  EXPECT_THAT(findings_of("replicas_equal", run, run.step()), IsEmpty());
}

std::vector<Finding> tiles(int second_index) {
  StepBuilder run(mesh_facts(2, 1));
  run.add(0, Phase::kForward, "a", "output", normal_values(64, 1), slice({8, 16}, 1, 0, 2));
  run.add(1, Phase::kForward, "a", "output", normal_values(64, 2),
          slice({8, 16}, 1, second_index, 2));
  return findings_of("shards_tile", run, run.step());
}

TEST(ShardsTile, HalvesTile) {
  EXPECT_THAT(tiles(1), IsEmpty());
}

TEST(ShardsTile, TheSameHalfTwiceLeavesAGap) {
  const auto findings = tiles(0);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].evidence, testing::HasSubstr("64 of 128"));
}

TEST(ShardsTile, ADeadRankIsNotAGap) {
  StepBuilder run(mesh_facts(2, 1));
  run.add(0, Phase::kForward, "a", "output", normal_values(64, 1), slice({8, 16}, 1, 0, 2));
  auto step = run.step();
  step.progress[1].complete = false;
  EXPECT_THAT(findings_of("shards_tile", run, step), IsEmpty());
}

// Two ranks of two microbatches of two samples: which of the four pieces are there, and where the
// last one says that it lies.
std::vector<Finding> tiles_of_passes(const std::vector<int>& pieces, int last_index = 3) {
  StepBuilder run(mesh_facts(1, 2, 2));
  for (const int piece : pieces) {
    const auto placement =
        with(slice({8, 4}, 0, piece == 3 ? last_index : piece, 4, MeshAxis::kDp), MeshAxis::kDp,
             PlacementKind::kBatch);
    run.add(piece / 2, Phase::kForward, "a", "output", normal_values(8, 1), placement)
        .where.microbatch = piece % 2;
  }
  return findings_of("shards_tile", run, run.step());
}

TEST(ShardsTile, APassThatNoRankMadeIsNotAGap) {
  EXPECT_THAT(tiles_of_passes({0, 1, 2, 3}), IsEmpty());
  EXPECT_THAT(tiles_of_passes({0, 2}), IsEmpty());
}

TEST(ShardsTile, APassThatOneRankMadeWithoutTheModuleIsNotAGap) {
  EXPECT_THAT(tiles_of_passes({0, 1, 2}), IsEmpty());
}

TEST(ShardsTile, AWrongPieceAmongAllPassesIsAGap) {
  const auto findings = tiles_of_passes({0, 1, 2, 3}, 2);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].evidence, testing::HasSubstr("8 of 32"));
}

// Two ranks of flattened samples and tokens, 12 tokens a sample in each, or in the second 8; every
// second sample is the first rank's. The second one's last sample may be its first again.
std::vector<Finding> tiles_of_tokens(int64_t tokens, bool same_again) {
  StepBuilder run(mesh_facts(1, 2));
  for (const int rank : {0, 1}) {
    const int64_t each = rank == 0 ? 12 : tokens;
    for (const int64_t sample : {0, 1}) {
      auto placement = trace::whole({"sample"}, {48});
      placement.regions.front().extent = {each};
      placement.regions.front().logical_start = {
          (2 * (rank == 1 && same_again ? 0 : sample) + rank) * each};
      run.add(rank, Phase::kForward, "a", "output", normal_values(static_cast<size_t>(each), 1),
              with(placement, MeshAxis::kDp, PlacementKind::kBatch));
    }
  }
  return findings_of("shards_tile", run, run.step());
}

TEST(ShardsTile, RanksOfDifferentLengthsHaveNoCommonPlaces) {
  EXPECT_THAT(tiles_of_tokens(12, false), IsEmpty());
  EXPECT_THAT(tiles_of_tokens(8, false), IsEmpty());
}

TEST(ShardsTile, RanksOfOneLengthMustTile) {
  EXPECT_THAT(tiles_of_tokens(12, true), SizeIs(1));
}

TEST(ShardsTile, AShardOfAParameterIsJudgedWhateverPassesWereMade) {
  StepBuilder run(mesh_facts(2, 1, 2));
  for (const int rank : {0, 1}) {
    run.add(rank, Phase::kForward, "w", "param", normal_values(64, 1), slice({8, 16}, 1, 0, 2));
  }
  EXPECT_THAT(findings_of("shards_tile", run, run.step()), SizeIs(1));
}

std::vector<Finding> carried(bool stale) {
  StepBuilder before(mesh_facts(1, 1)), after(mesh_facts(1, 1));
  before.add(0, Phase::kForward, "w", "param", normal_values(128, 1), kWhole);
  before.add(0, Phase::kUpdate, "w", "param", normal_values(128, 2), kWhole);
  after.add(0, Phase::kForward, "w", "param", normal_values(128, stale ? 1 : 2), kWhole);
  const auto previous = before.step(0);
  return findings_of("state_carried", after, after.step(1), &previous);
}

TEST(StateCarried, UpdatedWeightsPass) {
  EXPECT_THAT(carried(false), IsEmpty());
}
TEST(StateCarried, StaleWeightsAreFound) {
  EXPECT_THAT(carried(true), SizeIs(1));
}

std::vector<Finding> batches(uint64_t second_seed) {
  StepBuilder run(mesh_facts(1, 2));
  for (int rank = 0; rank < 2; ++rank) {
    auto placement = slice({4, 32}, 0, rank, 2, MeshAxis::kDp);
    placement = with(placement, MeshAxis::kDp, PlacementKind::kBatch);
    run.add(rank, Phase::kForward, "data", "tokens", normal_values(64, rank == 0 ? 1 : second_seed),
            placement);
  }
  return findings_of("distinct_batches", run, run.step());
}

TEST(DistinctBatches, DifferentSamplesPass) {
  EXPECT_THAT(batches(2), IsEmpty());
}
TEST(DistinctBatches, TheSameSamplesTwiceAreFound) {
  EXPECT_THAT(batches(1), SizeIs(1));
}

}  // namespace
}  // namespace nanhunt::oracle::test
