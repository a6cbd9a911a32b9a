// SPDX-License-Identifier: Apache-2.0
// Signatures of places within a tensor, and their twins.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

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

// A loss mask that leaves out the last tokens of each sample, and activations on two ranks.
TraceBuilder padded(int tp, const std::function<void(Values&)>& edit) {
  TraceBuilder builder(tp);
  auto positions = copies({kSamples, kTokens});
  positions.axes = {"sample", "token"};
  Values mask(kSamples * kTokens, 1);
  for (const size_t position : {6, 7, 12, 13, 14, 15}) mask[position] = 0;
  Values norm = normal_values(kSamples * kTokens * kChannels, 5);
  edit(norm);
  for (int rank = 0; rank < tp; ++rank) {
    builder.add({rank, "data", Phase::kForward, "loss_mask"}, mask, positions);
    builder.add({rank, "norm"}, norm, copies({kSamples, kTokens, kChannels}));
  }
  return builder;
}

std::function<void(Values&)> set_at(const std::vector<size_t>& positions, float value) {
  return [=](Values& values) {
    for (const size_t position : positions) values[position * kChannels + 3] = value;
  };
}

std::string of_padded(const std::vector<size_t>& positions, float value, bool values = true) {
  return signature_of(
      verdict_of(padded(2, set_at(positions, value)), padded(1, [](Values&) {}), values));
}

TEST(Signatures, OnlyMaskedPositions) {
  EXPECT_EQ(of_padded({6, 7, 12, 13, 14}, 9), "only_masked_positions");
  EXPECT_EQ(of_padded({6, 7, 12, 13, 14, 15}, NAN), "only_masked_positions");
}

TEST(Signatures, OnlyMaskedPositionsRefusesOthersAndFewAndSketches) {
  EXPECT_NE(of_padded({2, 6, 7, 12, 13, 14}, 9), "only_masked_positions");
  EXPECT_NE(of_padded({2, 6, 7, 12, 13, 14}, NAN), "only_masked_positions");
  EXPECT_NE(of_padded({12}, 9), "only_masked_positions") << "one may be masked by chance";
  EXPECT_NE(of_padded({6, 7, 12, 13, 14}, 9, false), "only_masked_positions");
}

// A wide output, and elements that are added to.
constexpr int64_t kRows = 64, kColumns = 64;

std::string of_wide(const std::function<bool(int64_t, int64_t)>& wrong, bool values = true) {
  const auto trace = [&](int tp, bool edited) {
    TraceBuilder builder(tp);
    Values output = normal_values(kRows * kColumns, 6);
    for (int64_t i = 0; edited && i < kRows * kColumns; ++i) {
      if (wrong(i / kColumns, i % kColumns)) output[static_cast<size_t>(i)] += 4;
    }
    for (int rank = 0; rank < tp; ++rank) builder.add({rank, "fc"}, output, copies({64, 64}));
    return builder;
  };
  return signature_of(verdict_of(trace(2, true), trace(1, false), values));
}

TEST(Signatures, LanePattern) {
  const auto lanes = [](int64_t row, int64_t column) { return column % 16 == 5 && row % 3 == 0; };
  EXPECT_EQ(of_wide(lanes), "lane_pattern");
  const auto tile = [](int64_t row, int64_t column) {
    return row / 16 == 1 && column / 16 == 2 && (row + column) % 2 == 0;
  };
  EXPECT_EQ(of_wide(tile), "lane_pattern");
}

// Without a reference: y = x w^T, and what the operands give.
TEST(Signatures, LanePatternAgainstTheOperands) {
  const auto scanned = [](int64_t period) {
    TraceBuilder builder;
    const Values input = normal_values(8 * 4, 1), weight = normal_values(64 * 4, 2);
    Values output(8 * 64);
    for (size_t i = 0; i < output.size(); ++i) {
      for (size_t k = 0; k < 4; ++k) output[i] += input[i / 64 * 4 + k] * weight[i % 64 * 4 + k];
      if (static_cast<int64_t>(i % 64) % period == 3) output[i] += 1;
    }
    const int64_t w =
        builder.add({0, "fc.weight", Phase::kForward, "param"}, weight, copies({64, 4}));
    const int64_t x = builder.add({0, "norm"}, input, copies({8, 4}));
    Tap tap{0, "fc"};
    tap.op = "linear";
    tap.links = {w, x};
    builder.add(tap, output, copies({8, 64}));
    return scan_with_values(builder);
  };
  const Verdict lanes = scanned(8);
  EXPECT_EQ(signature_of(lanes), "lane_pattern") << to_text(lanes);
  EXPECT_EQ(lanes.origins.front().finding.rule, "local_replay");
  EXPECT_EQ(signature_of(scanned(7)), "");
}

TEST(Signatures, LanePatternRefusesOtherPlacesAndSketches) {
  const auto lanes = [](int64_t, int64_t column) { return column % 16 == 5; };
  EXPECT_NE(of_wide(lanes, false), "lane_pattern");
  const auto fifth = [](int64_t, int64_t column) { return column % 5 == 0; };
  EXPECT_NE(of_wide(fifth), "lane_pattern") << "no power of two";
  const auto one_more = [](int64_t, int64_t column) { return column % 16 == 5 || column == 8; };
  EXPECT_NE(of_wide(one_more), "lane_pattern");
  const auto one_column = [](int64_t, int64_t column) { return column == 21; };
  EXPECT_NE(of_wide(one_column), "lane_pattern");
  const auto two_columns = [](int64_t, int64_t column) { return column == 21 || column == 53; };
  EXPECT_NE(of_wide(two_columns), "lane_pattern") << "by chance one in two";
  const auto half = [](int64_t, int64_t column) { return column < 32; };
  EXPECT_NE(of_wide(half), "lane_pattern") << "a head, or a shard";
  const auto rows = [](int64_t row, int64_t) { return row / 16 == 1; };
  EXPECT_NE(of_wide(rows), "lane_pattern");
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
