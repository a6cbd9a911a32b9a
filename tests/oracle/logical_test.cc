// SPDX-License-Identifier: Apache-2.0
#include "oracle/logical.h"

#include <gtest/gtest.h>

#include <cmath>

#include "oracle/envelope.h"
#include "tests/oracle/step_builder.h"

namespace nanhunt::oracle::test {
namespace {

using trace::MeshAxis;
using trace::Phase;
using trace::PlacementKind;

const std::vector<int64_t> kShape{16, 32};
const trace::Placement kWhole = trace::whole({"token", "channel"}, kShape);

Logical assembled(StepBuilder& run, const trace::Step& step) {
  const auto all = assemble(step, run.facts());
  EXPECT_EQ(all.size(), 1u);
  return all.front();
}

Logical reference() {
  StepBuilder run(mesh_facts(1, 1));
  run.add(0, Phase::kForward, "a", "output", normal_values(512, 1), kWhole);
  const auto step = run.step();
  return assembled(run, step);
}

// Columns [16 index, 16 index + 16) of the reference's values.
std::vector<float> columns(int index) {
  const auto whole = normal_values(512, 1);
  std::vector<float> part;
  for (int row = 0; row < 16; ++row) {
    for (int column = 0; column < 16; ++column) {
      part.push_back(whole[static_cast<size_t>(row * 32 + index * 16 + column)]);
    }
  }
  return part;
}

TEST(Logical, ShardsAddUpToTheWhole) {
  StepBuilder run(mesh_facts(2, 1));
  for (int rank = 0; rank < 2; ++rank) {
    run.add(rank, Phase::kForward, "a", "output", columns(rank), slice(kShape, 1, rank, 2));
  }
  const auto step = run.step();
  const auto logical = assembled(run, step);
  EXPECT_TRUE(logical.complete) << logical.why_not;
  EXPECT_EQ(logical.print.value_digest, reference().print.value_digest);
  EXPECT_EQ(logical.pieces.size(), 2u);
}

TEST(Logical, SwappedShardsGiveAnotherDigest) {
  StepBuilder run(mesh_facts(2, 1));
  for (int rank = 0; rank < 2; ++rank) {
    run.add(rank, Phase::kForward, "a", "output", columns(1 - rank), slice(kShape, 1, rank, 2));
  }
  const auto step = run.step();
  EXPECT_NE(assembled(run, step).print.value_digest, reference().print.value_digest);
}

TEST(Logical, CopiesEnterOnce) {
  StepBuilder run(mesh_facts(2, 1));
  for (int rank = 0; rank < 2; ++rank) {
    run.add(rank, Phase::kForward, "a", "output", normal_values(512, 1), kWhole);
  }
  const auto step = run.step();
  const auto logical = assembled(run, step);
  EXPECT_EQ(logical.print.value_digest, reference().print.value_digest);
  EXPECT_EQ(logical.copies.size(), 1u);
}

TEST(Logical, PartialSumsAddUp) {
  StepBuilder run(mesh_facts(2, 1));
  const auto whole = normal_values(512, 1), first = normal_values(512, 2);
  std::vector<float> second(512);
  for (size_t i = 0; i < 512; ++i) second[i] = whole[i] - first[i];
  const auto partial = with(kWhole, MeshAxis::kTp, PlacementKind::kPartial);
  run.add(0, Phase::kForward, "a", "output", first, partial);
  run.add(1, Phase::kForward, "a", "output", second, partial);
  const auto step = run.step();
  const auto logical = assembled(run, step);
  EXPECT_TRUE(logical.partial);
  const auto off = trace::subtract(logical.print.sketch, reference().print.sketch);
  EXPECT_LT(trace::sketch_norm(off), 1e-5);
}

TEST(Logical, AMissingPartialSumIsIncomplete) {
  StepBuilder run(mesh_facts(2, 1));
  run.add(0, Phase::kForward, "a", "output", normal_values(512, 2),
          with(kWhole, MeshAxis::kTp, PlacementKind::kPartial));
  const auto step = run.step();
  const auto logical = assembled(run, step);
  EXPECT_FALSE(logical.complete);
  EXPECT_EQ(logical.why_not, "1 of 2 partial sums are there");
}

TEST(Logical, UnknownPlacementIsNotGuessed) {
  StepBuilder run(mesh_facts(1, 1));
  auto& record = run.add(0, Phase::kForward, "a", "output", normal_values(512, 1), kWhole);
  record.placement =
      std::make_shared<trace::Placement>(with({}, MeshAxis::kTp, PlacementKind::kUnknown));
  const auto step = run.step();
  EXPECT_EQ(assembled(run, step).why_not, "unknown placement");
}

Deviation deviation_of(const std::vector<float>& candidate, const std::vector<float>& trusted) {
  StepBuilder a(mesh_facts(1, 1)), b(mesh_facts(1, 1));
  a.add(0, Phase::kForward, "a", "output", candidate, kWhole);
  b.add(0, Phase::kForward, "a", "output", trusted, kWhole);
  const auto step_a = a.step(), step_b = b.step();
  return deviation(step_a, assembled(a, step_a), nullptr, step_b, assembled(b, step_b), nullptr);
}

TEST(Deviation, EqualTensorsAreEqual) {
  const auto d = deviation_of(normal_values(512, 1), normal_values(512, 1));
  EXPECT_TRUE(d.equal);
  EXPECT_EQ(d.norm, 0);
}

TEST(Deviation, TheSketchEstimatesTheNorm) {
  auto off = normal_values(512, 1);
  for (float& v : off) v *= 1.1f;
  const auto d = deviation_of(off, normal_values(512, 1));
  EXPECT_FALSE(d.equal);
  EXPECT_NEAR(d.norm, 0.1, 0.05);
}

TEST(Deviation, OtherMasksAreNotComparable) {
  auto off = normal_values(512, 1);
  off[3] = NAN;
  EXPECT_FALSE(deviation_of(off, normal_values(512, 1)).comparable);
}

TEST(Deviation, AZeroReferenceAllowsOnlyZero) {
  const std::vector<float> zero(512, 0.0f);
  EXPECT_TRUE(deviation_of(zero, zero).equal);
  EXPECT_TRUE(std::isinf(deviation_of(normal_values(512, 1), zero).norm));
}

}  // namespace
}  // namespace nanhunt::oracle::test
