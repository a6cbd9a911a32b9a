// SPDX-License-Identifier: Apache-2.0
#include "oracle/thresholds.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/scratch_folder.h"
#include "trace/error.h"

namespace nanhunt::oracle {
namespace {

TEST(Thresholds, HashFollowsTheNumbers) {
  auto a = Thresholds::installed(), b = Thresholds::installed();
  EXPECT_EQ(a.sha256().size(), 64u);
  EXPECT_EQ(a.sha256(), b.sha256());
  b.override_with("family_rate", a["family_rate"] * 2);
  EXPECT_NE(a.sha256(), b.sha256());
}

TEST(Thresholds, TheHashIsThatOfTheSortedLines) {
  const ScratchFolder folder;
  const auto path = folder / "two_thresholds.json";
  std::ofstream(path) << R"({"b": 2, "a": 1})";
  // printf 'a=1.0\nb=2.0\n' | sha256sum
  EXPECT_EQ(Thresholds::read(path).sha256(),
            "043be188c7bf84063be0c5f9fb4efc6863bd538270ab59bfa63e8b830970d700");
}

TEST(Thresholds, UnknownKeysAreRefusedWithTheKnownOnes) {
  auto thresholds = Thresholds::installed();
  try {
    thresholds.override_with("familyrate", 1);
    FAIL();
  } catch (const trace::Error& error) {
    EXPECT_EQ(error.kind(), trace::ErrorKind::kUsage);
    EXPECT_NE(std::string(error.what()).find("family_rate"), std::string::npos);
  }
}

TEST(Thresholds, FilesThatAreNotThresholdsAreRefused) {
  const ScratchFolder folder;
  const auto path = folder / "bad_thresholds.json";
  std::ofstream(path) << R"({"family_rate": "small"})";
  EXPECT_THROW(Thresholds::read(path), trace::Error);
  EXPECT_THROW(Thresholds::read(folder / "missing.json"), trace::Error);
}

}  // namespace
}  // namespace nanhunt::oracle
