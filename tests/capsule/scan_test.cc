// SPDX-License-Identifier: Apache-2.0
#include "capsule/scan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "tests/capsule/small_capsule.h"

namespace nanhunt::capsule::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr Layout kLayout{.tp = 2, .dp = 2};

Report scan_of(const Edit& edit) {
  const TemporaryFolder folder;
  write_capsule(folder.path(), kLayout, 4, edit);
  return scan(Capsule(folder.path()));
}

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

TEST(CapsuleScan, AHealthyOneIsClean) {
  const Report report = scan_of({});
  EXPECT_THAT(report.findings, IsEmpty());
  EXPECT_EQ(exit_status(report), 0);
  EXPECT_THAT(to_text(report), HasSubstr("Verdict: clean"));
  EXPECT_THAT(report.absent, testing::Contains(HasSubstr("schedule")));
  EXPECT_EQ(report.kinds.at("moments"), 4);
}

TEST(CapsuleScan, NaNIsFoundOnItsRanks) {
  const Report report = scan_of(set_to("layers.1.mlp.linear_fc1.weight", "master",
                                       std::numeric_limits<float>::quiet_NaN(), 1));
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].rule, "non_finite");
  EXPECT_THAT(report.findings[0].ranks, ElementsAre(1, 3));
  EXPECT_EQ(exit_status(report), 1);
}

TEST(CapsuleScan, AnAllZeroWeightIsFoundAndAZeroShardIsNot) {
  const Report whole = scan_of(set_to("layers.0.mlp.linear_fc1.weight", "param", 0));
  ASSERT_EQ(whole.findings.size(), 1u);
  EXPECT_EQ(whole.findings[0].rule, "all_zero");
  EXPECT_FALSE(whole.findings[0].proven);
  EXPECT_THAT(scan_of(set_to("layers.0.mlp.linear_fc1.weight", "param", 0, 0)).findings, IsEmpty());
}

TEST(CapsuleScan, AZeroMomentIsFoundOnceStepsWereMade) {
  const auto zero = set_to("layers.0.mlp.linear_fc1.weight", "exp_avg", 0);
  ASSERT_EQ(scan_of(zero).findings.size(), 1u);
  EXPECT_EQ(scan_of(zero).findings[0].rule, "zero_moment");
  const TemporaryFolder folder;
  write_capsule(folder.path(), kLayout, 0, zero);  // before the first step
  EXPECT_THAT(scan(Capsule(folder.path())).findings, IsEmpty());
}

TEST(CapsuleScan, ANegativeSecondMomentIsFound) {
  const Report report = scan_of(set_to("layers.0.mlp.linear_fc1.weight", "exp_avg_sq", -1, 1));
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings[0].rule, "negative_second_moment");
  EXPECT_TRUE(report.findings[0].proven);
}

TEST(CapsuleScan, HalfACapsuleIsIncomplete) {
  const TemporaryFolder folder;
  write_capsule(folder.path(), kLayout, 4);
  std::filesystem::remove(trace::segment_path(folder.path(), {4, 1, 0}));
  const Report report = scan(Capsule(folder.path()));
  EXPECT_EQ(exit_status(report), 3);
  EXPECT_THAT(to_text(report), HasSubstr("Not whole: rank 1 has no file"));
}

}  // namespace
}  // namespace nanhunt::capsule::test
