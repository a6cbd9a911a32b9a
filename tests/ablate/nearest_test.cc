// SPDX-License-Identifier: Apache-2.0
#include "ablate/nearest.h"

#include <gtest/gtest.h>

namespace nanhunt::ablate {
namespace {

const std::vector<std::string> kNames = {"parallel.tp", "parallel.dp", "layout.sp"};

TEST(Nearest, FindsTheFewestEdits) {
  EXPECT_EQ(nearest("paralel.tp", kNames), "parallel.tp");
  EXPECT_EQ(nearest("layout.spp", kNames), "layout.sp");
}

TEST(Nearest, SaysNothingWhenNothingIsNear) {
  EXPECT_EQ(nearest("quantisation", kNames), "");
  EXPECT_EQ(did_you_mean("quantisation", kNames), "");
}

TEST(Nearest, WordsTheHint) {
  EXPECT_EQ(did_you_mean("layout.s", kNames), "; did you mean 'layout.sp'?");
}

}  // namespace
}  // namespace nanhunt::ablate
