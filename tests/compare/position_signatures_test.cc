// SPDX-License-Identifier: Apache-2.0
// Signatures of places within a tensor, and their twins.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/compare/signature_verdicts.h"

namespace nanhunt::compare::test {
namespace {

using trace::Phase;

Edit tokens_wrong(int64_t first) {
  return [=](const Tap& tap, Values& values) {
    if (!at(tap, "norm")) return;
    const Values other = normal_values(values.size(), 77);
    for (size_t i = 0; i < values.size(); ++i) {
      const auto token = static_cast<int64_t>(i) / kChannels % kTokens;
      if (token >= first) values[i] = other[i];
    }
  };
}

TEST(Signatures, OnlyLatePositions) {
  const Verdict verdict = verdict_of(tokens_wrong(6), true);
  EXPECT_EQ(signature_of(verdict), "only_late_positions") << to_text(verdict);
}

TEST(Signatures, OnlyLatePositionsRefusesEarlyOnes) {
  EXPECT_EQ(signature_of(verdict_of(tokens_wrong(1), true)), "");
  EXPECT_EQ(signature_of(verdict_of(tokens_wrong(6), false)), "") << "sketches have no positions";
}

TEST(Signatures, OneRank) {
  const Verdict one = verdict_of(
      [](const Tap& tap, Values& values) {
        if (at(tap, "fc1") && tap.rank == 1) values = plus(values, normal_values(values.size(), 3));
      },
      true);
  EXPECT_EQ(signature_of(one), "one_rank") << to_text(one);
  const Verdict both = verdict_of(
      [](const Tap& tap, Values& values) {
        if (at(tap, "fc1")) values = plus(values, normal_values(values.size(), 3));
      },
      true);
  EXPECT_EQ(signature_of(both), "") << to_text(both);
}

}  // namespace
}  // namespace nanhunt::compare::test
