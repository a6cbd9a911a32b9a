// SPDX-License-Identifier: Apache-2.0
// Capsules by the rules of checkpoints: each fault is found whatever the layout, with the ranks
// that hold it, and a healthy capsule is clean.
#include "checkpoint/capsule_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "tests/capsule/small_capsule.h"
#include "tests/checkpoint/small_checkpoint.h"
#include "tests/support/scratch_folder.h"

namespace nanhunt::checkpoint::test {
namespace {

using capsule::Capsule;
using capsule::test::Edit;
using capsule::test::index_of;
using capsule::test::Layout;
using capsule::test::print_again;
using capsule::test::write_capsule;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr Layout kLayout{.tp = 2, .dp = 2};
const std::string kWeight = "decoder.layers.0.mlp.linear_fc1.weight";

// All values of that tensor on all ranks, or on the ranks of one piece.
Edit set_to(const std::string& site, const std::string& role, float value, int piece = -1) {
  return [=](trace::Segment& segment) {
    if (piece >= 0 && segment.rank % 2 != piece) return;
    const size_t i = index_of(segment, site, role);
    for (size_t at = 0; at < segment.values[i].size(); at += sizeof value)
      std::memcpy(segment.values[i].data() + at, &value, sizeof value);
    print_again(segment, i);
  };
}

Checkpoint source_of(const fs::path& folder) {
  Checkpoint checkpoint;
  add_capsule(std::make_shared<const Capsule>(folder), "c", "c", &checkpoint);
  return checkpoint;
}

class CapsuleSource : public testing::TestWithParam<Layout> {
 protected:
  Report scan_of(const Edit& edit, const Layout& layout = kLayout, int64_t step = 4) {
    const ScratchFolder folder;
    write_capsule(folder.path(), layout, step, edit);
    const Checkpoint checkpoint = source_of(folder.path());
    return scan("c", checkpoint, nullptr, {}, replica_mismatches(Capsule(folder.path()), "c"));
  }
};

TEST_F(CapsuleSource, HealthyOnesAreCleanInEveryLayout) {
  for (const Layout& layout :
       {kLayout, Layout{}, Layout{.tp = 4, .dimension = 1}, Layout{.dp = 4, .flat = true}}) {
    const Report report = scan_of({}, layout);
    EXPECT_THAT(told(report), IsEmpty());
    EXPECT_EQ(report.kind, compare::VerdictKind::kClean);
  }
}

TEST_F(CapsuleSource, NanIsFoundInTheLogicalTensorOnItsRanks) {
  const Report report = scan_of([](trace::Segment& segment) {
    if (segment.rank % 2 != 1) return;
    const size_t i = index_of(segment, "layers.0.mlp.linear_fc1.weight", "master");
    const float nan = std::numeric_limits<float>::quiet_NaN();
    std::memcpy(segment.values[i].data() + 14 * sizeof nan, &nan, sizeof nan);
    print_again(segment, i);
  });
  ASSERT_THAT(told(report), ElementsAre("non_finite " + kWeight + ".master proven"));
  EXPECT_THAT(report.findings[0].place, ElementsAre(5, 2));
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(1, 3));
}

TEST_F(CapsuleSource, AnAllZeroWeightIsFoundAndAZeroShardIsNot) {
  EXPECT_THAT(told(scan_of(set_to("layers.0.mlp.linear_fc1.weight", "param", 0))),
              ElementsAre("all_zero " + kWeight + " suspicious"));
  EXPECT_THAT(told(scan_of(set_to("layers.0.mlp.linear_fc1.weight", "param", 0, 0))), IsEmpty());
}

TEST_F(CapsuleSource, AZeroMomentIsFoundOnceStepsWereMade) {
  const auto zero = [](trace::Segment& segment) {
    for (const char* layer : {"layers.0", "layers.1"})
      set_to(std::string(layer) + ".mlp.linear_fc1.weight", "exp_avg", 0)(segment);
  };
  EXPECT_EQ(told(scan_of(zero)).size(), 2u);
  EXPECT_EQ(told(scan_of(zero))[0], "zero_moment " + kWeight + ".exp_avg suspicious");
  EXPECT_THAT(told(scan_of(zero, kLayout, 0)), IsEmpty()) << "before the first step";
}

TEST_F(CapsuleSource, ANegativeSecondMomentIsFound) {
  EXPECT_THAT(told(scan_of(set_to("layers.0.mlp.linear_fc1.weight", "exp_avg_sq", -1, 1))),
              ElementsAre("negative_second_moment " + kWeight + ".exp_avg_sq proven"));
}

TEST_F(CapsuleSource, CopiesThatDifferAreFound) {
  const Report report = scan_of([](trace::Segment& segment) {
    if (segment.rank != 2) return;
    const size_t i = index_of(segment, "bias", "param");
    segment.values[i][1] ^= std::byte{1};
    print_again(segment, i);
  });
  ASSERT_THAT(told(report),
              ElementsAre("replica_mismatch decoder.layers.0.mlp.linear_fc1.bias proven"));
  EXPECT_EQ(report.findings[0].evidence, "ranks 0 and 2 have copies of it that differ");
}

TEST_F(CapsuleSource, WhatDidNotMoveIsFoundOverLayouts) {
  const ScratchFolder older, newer;
  write_capsule(older.path(), kLayout, 3);
  const auto moved = [](trace::Segment& segment) {
    for (size_t i = 0; i < segment.records.size(); ++i) {
      const auto& what = segment.records[i].what;
      if (segment.records[i].storage != trace::DType::kFloat32) continue;
      if (what.site == "decoder.layers.1.mlp.linear_fc1.weight" && what.role == "exp_avg") continue;
      std::vector<float> values(segment.values[i].size() / sizeof(float));
      std::memcpy(values.data(), segment.values[i].data(), segment.values[i].size());
      for (float& value : values) value += 0.5f;
      std::memcpy(segment.values[i].data(), values.data(), segment.values[i].size());
      print_again(segment, i);
    }
  };
  write_capsule(newer.path(), Layout{.tp = 4}, 4, moved);
  const Checkpoint now = source_of(newer.path()), before = source_of(older.path());
  ScanOptions options;
  options.before = older.path();
  EXPECT_THAT(told(scan("c", now, &before, options)),
              ElementsAre("frozen decoder.layers.1.mlp.linear_fc1.weight.exp_avg suspicious"));
}

TEST_F(CapsuleSource, WhatThereIsOfHalfACapsuleIsSearched) {
  const ScratchFolder folder;
  write_capsule(folder.path(), kLayout, 4,
                set_to("layers.0.mlp.linear_fc1.weight", "master",
                       std::numeric_limits<float>::infinity(), 0));
  std::filesystem::remove(trace::segment_path(folder.path(), {4, 1, 0}));
  std::filesystem::remove(trace::segment_path(folder.path(), {4, 3, 0}));
  const Checkpoint checkpoint = source_of(folder.path());
  EXPECT_THAT(told(scan("c", checkpoint, nullptr, {})),
              ElementsAre("non_finite " + kWeight + ".master (rank 0) proven",
                          "non_finite " + kWeight + ".master (rank 2) proven"));
}

}  // namespace
}  // namespace nanhunt::checkpoint::test
