// SPDX-License-Identifier: Apache-2.0
#include "capsule/name.h"

#include <gtest/gtest.h>

#include "tests/capsule/small_capsule.h"
#include "tests/support/scratch_folder.h"
#include "trace/error.h"

namespace nanhunt::capsule::test {
namespace {

TEST(CapsuleName, HasAStepOrNone) {
  EXPECT_EQ(parse_name("runs/capsules").folder, "runs/capsules");
  EXPECT_EQ(parse_name("runs/capsules").step, -1);
  EXPECT_EQ(parse_name("runs/capsules@400").folder, "runs/capsules");
  EXPECT_EQ(parse_name("runs/capsules@400").step, 400);
  EXPECT_EQ(parse_name("me@host/capsules@0").folder, "me@host/capsules");
}

TEST(CapsuleName, AFolderWithAnAtIsAFolder) {
  const ScratchFolder folder;
  const auto path = folder.path() / "run@7";
  std::filesystem::create_directory(path);
  EXPECT_EQ(parse_name(path.string()).folder, path);
  EXPECT_EQ(parse_name(path.string()).step, -1);
}

TEST(CapsuleName, WhatIsNoStepIsRefused) {
  for (const char* text : {"a@", "a@b", "a@-1", "a@1x"})
    EXPECT_THROW(parse_name(text), trace::Error) << text;
}

}  // namespace
}  // namespace nanhunt::capsule::test
