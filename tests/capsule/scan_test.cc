// SPDX-License-Identifier: Apache-2.0
#include "capsule/scan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/capsule/small_capsule.h"
#include "tests/support/scratch_folder.h"

namespace nanhunt::capsule::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr Layout kLayout{.tp = 2, .dp = 2};

Report scan_of(const Edit& edit) {
  const ScratchFolder folder;
  write_capsule(folder.path(), kLayout, 4, edit);
  return scan(Capsule(folder.path()));
}

TEST(CapsuleScan, AHealthyOneIsWhole) {
  const Report report = scan_of({});
  EXPECT_THAT(report.faults, IsEmpty());
  EXPECT_THAT(report.absent, testing::Contains(HasSubstr("schedule")));
  EXPECT_EQ(report.kinds.at("moments"), 4);
}

TEST(CapsuleScan, HalfACapsuleIsNotWhole) {
  const ScratchFolder folder;
  write_capsule(folder.path(), kLayout, 4);
  std::filesystem::remove(trace::segment_path(folder.path(), {4, 1, 0}));
  EXPECT_THAT(to_text(scan(Capsule(folder.path()))), HasSubstr("Not whole: rank 1 has no file"));
}

}  // namespace
}  // namespace nanhunt::capsule::test
