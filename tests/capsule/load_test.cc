// SPDX-License-Identifier: Apache-2.0
// What is loaded, what is rebuilt, and what cannot be.
#include "capsule/load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "tests/capsule/small_capsule.h"
#include "tests/support/scratch_folder.h"
#include "trace/error.h"

namespace nanhunt::capsule::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr Layout kLayout{.tp = 2, .dp = 2};
constexpr const char* kMatrix = "decoder.layers.0.mlp.linear_fc1.weight";

std::shared_ptr<const trace::Placement> share(trace::Placement placement) {
  return std::make_shared<const trace::Placement>(std::move(placement));
}

Wanted matrix(const Layout& layout, int32_t rank, const std::string& role) {
  return {kMatrix, role, trace::DType::kFloat32, local_shape(layout),
          share(matrix_placement(layout, rank))};
}

Wanted stream() {
  return {"rng.cpu", "state", trace::DType::kUInt8, {16}, share(trace::whole({""}, {16}))};
}

TEST(Load, WhatIsNotInTheCapsuleIsNamedWithWhatIsLost) {
  const ScratchFolder folder;
  write_capsule(folder.path(), kLayout, 4, [](trace::Segment& segment) {
    const size_t i = index_of(segment, "weight", "exp_avg");
    segment.records.erase(segment.records.begin() + static_cast<std::ptrdiff_t>(i));
    segment.values.erase(segment.values.begin() + static_cast<std::ptrdiff_t>(i));
  });
  const Capsule capsule(folder.path());
  EXPECT_THAT(capsule.faults(), IsEmpty());  // a kind that nobody wrote is no damage
  const Plan plan =
      plan_load(capsule, {matrix(kLayout, 0, "master"), matrix(kLayout, 0, "exp_avg")}, 0, true);
  EXPECT_EQ(plan.tensors[0].outcome, Outcome::kLoaded);
  EXPECT_EQ(plan.tensors[1].outcome, Outcome::kRebuilt);
  EXPECT_THAT(plan.obstacles(), ElementsAre(AllOf(HasSubstr("linear_fc1.weight exp_avg is not in"),
                                                  HasSubstr("level state"))));
}

TEST(Load, LayoutBoundStateIsLoadedInItsOwnLayoutOnly) {
  const ScratchFolder folder;
  write_capsule(folder.path(), kLayout, 4);
  const Capsule capsule(folder.path());
  const Plan same = plan_load(capsule, {stream()}, 3, true);
  ASSERT_THAT(same.obstacles(), IsEmpty());
  std::vector<std::byte> bytes(16);
  load(capsule, stream(), same.tensors[0], bytes);
  EXPECT_THAT(bytes, testing::Each(std::byte{4}));  // rank 3's own
  const Plan other = plan_load(capsule, {stream()}, 0, false);
  EXPECT_THAT(other.obstacles(),
              ElementsAre(AllOf(HasSubstr("bound to the layout"), HasSubstr("level replay"))));
}

// Running statistics under data parallelism: each rank goes on with its own.
TEST(Load, BuffersOfRanksMayDiffer) {
  const ScratchFolder folder;
  write_capsule(folder.path(), kLayout, 4, [](trace::Segment& segment) {
    const size_t i = index_of(segment, "bias", "param");
    segment.records[i].what = {4, "norm.running_mean", trace::Phase::kState, "buffer", 0};
    segment.values[i][3] = static_cast<std::byte>(segment.rank);
    print_again(segment, i);
  });
  const Capsule capsule(folder.path());
  EXPECT_THAT(capsule.faults(), IsEmpty());
  const Wanted wanted{"norm.running_mean",
                      "buffer",
                      trace::DType::kFloat32,
                      {kRows},
                      share(trace::whole({"out"}, {kRows}))};
  for (const bool same_layout : {true, false}) {
    std::vector<std::byte> bytes(kRows * sizeof(float));
    load(capsule, wanted, plan_load(capsule, {wanted}, 3, same_layout).tensors[0], bytes);
    EXPECT_EQ(bytes[3], std::byte{same_layout ? uint8_t{3} : uint8_t{0}});
  }
}

TEST(Load, AnotherShapeOrTypeCannotBeLoaded) {
  const ScratchFolder folder;
  write_capsule(folder.path(), kLayout, 4);
  const Capsule capsule(folder.path());
  Wanted wide = matrix({}, 0, "param");
  trace::Placement placement = trace::whole({"out", "in"}, {kRows, kColumns + 1});
  wide.placement = share(placement);
  wide.local_shape = placement.logical_shape;
  Wanted half = matrix({}, 0, "param");
  half.dtype = trace::DType::kBFloat16;
  const Plan plan = plan_load(capsule, {wide, half, matrix({}, 0, "param")}, 0, false);
  EXPECT_EQ(plan.tensors[0].outcome, Outcome::kCannot);
  EXPECT_THAT(plan.tensors[0].why, HasSubstr("fp32 [8, 12] in the capsule, here fp32 [8, 13]"));
  EXPECT_EQ(plan.tensors[1].outcome, Outcome::kCannot);
  EXPECT_EQ(plan.tensors[2].outcome, Outcome::kLoaded);
}

TEST(Load, WhatNobodyWantsIsNamed) {
  const ScratchFolder folder;
  write_capsule(folder.path(), {}, 4);
  const Plan plan = plan_load(Capsule(folder.path()), {matrix({}, 0, "param")}, 0, true);
  EXPECT_THAT(plan.unused, testing::Contains("optimizer step"));
  EXPECT_THAT(plan.unused, testing::Not(testing::Contains(std::string(kMatrix) + " param")));
  EXPECT_THAT(plan.unused, testing::Not(testing::Contains("capsule run")));
  EXPECT_EQ(unused_text("optimizer step"),
            "optimizer step is in the capsule, and this program has no such tensor: it would be "
            "dropped; broken from level state on");
}

TEST(Load, PricesAreOfWhatTheRankReads) {
  const ScratchFolder folder;
  write_capsule(folder.path(), kLayout, 4);
  const Capsule capsule(folder.path());
  const Plan own = plan_load(capsule, {matrix(kLayout, 1, "param")}, 1, true);
  EXPECT_EQ(own.bytes_read, kRows * kColumns / 2 * 4);  // one piece, of one of its copies
  const Plan all = plan_load(capsule, {matrix({}, 0, "param")}, 0, false);
  EXPECT_EQ(all.bytes_read, kRows * kColumns * 4);
  EXPECT_GT(all.peak_bytes, own.peak_bytes);
}

// Byte by byte: wherever in the values a byte flips, loading says so.
TEST(Load, AFlippedByteIsNamed) {
  const ScratchFolder folder;
  write_capsule(folder.path(), {}, 4);
  const auto file = trace::segment_path(folder.path(), {4, 0, 0});
  std::ifstream in(file, std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(in)), {});
  const auto piece = piece_of({}, 0, "param");
  const std::string values(reinterpret_cast<const char*>(piece.data()),
                           piece.size() * sizeof(float));
  const size_t at = whole.find(values);
  ASSERT_NE(at, std::string::npos);
  for (size_t i = 0; i < values.size(); i += 37) {
    std::string bad = whole;
    bad[at + i] = static_cast<char>(bad[at + i] ^ 16);
    std::ofstream(file, std::ios::binary) << bad;
    const Capsule capsule(folder.path());
    const Wanted wanted = matrix({}, 0, "param");
    const Plan plan = plan_load(capsule, {wanted}, 0, true);
    std::vector<std::byte> out(values.size());
    try {
      load(capsule, wanted, plan.tensors[0], out);
      ADD_FAILURE() << "byte " << i;
    } catch (const trace::Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("weight param (rank 0, step 4)"));
    }
  }
  std::ofstream(file, std::ios::binary) << whole;
  const Capsule capsule(folder.path());
  const Wanted wanted = matrix({}, 0, "param");
  std::vector<std::byte> out(values.size());
  load(capsule, wanted, plan_load(capsule, {wanted}, 0, true).tensors[0], out);
  EXPECT_EQ(std::memcmp(out.data(), values.data(), values.size()), 0);
}

}  // namespace
}  // namespace nanhunt::capsule::test
