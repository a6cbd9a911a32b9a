// SPDX-License-Identifier: Apache-2.0
// Signatures of values that lie at each other's places, and their twins.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "compare/judge_sources.h"
#include "tests/compare/signature_verdicts.h"

namespace nanhunt::compare::test {
namespace {

using testing::HasSubstr;
using trace::Phase;

// Activations [2, 8, 16] on two ranks; the edit sees the healthy values and what is recorded, with
// noise of a rounding.
constexpr int64_t kWidth = 16;
using Rewrite = std::function<void(const Values&, Values&)>;

TraceBuilder activations(int tp, const Rewrite& edit, double noise) {
  TraceBuilder builder(tp);
  const Values healthy = normal_values(kSamples * kTokens * kWidth, 5);
  Values output = healthy;
  edit(healthy, output);
  output = plus(output, normal_values(output.size(), 6, noise));
  for (int rank = 0; rank < tp; ++rank) {
    builder.add({rank, "fc"}, output, copies({kSamples, kTokens, kWidth}));
  }
  return builder;
}

Verdict of(const Rewrite& edit, bool values = true) {
  return verdict_of(activations(2, edit, kHealthy / 2),
                    activations(
                        1, [](const Values&, Values&) {}, 0),
                    values);
}

// Row (or column) `to` gets the values of `from`.
void move_row(const Values& healthy, Values& output, int64_t from, int64_t to) {
  std::copy_n(healthy.begin() + from * kWidth, kWidth, output.begin() + to * kWidth);
}

void move_column(const Values& healthy, Values& output, int64_t from, int64_t to) {
  for (size_t row = 0; row < healthy.size(); row += kWidth) {
    output[row + static_cast<size_t>(to)] = healthy[row + static_cast<size_t>(from)];
  }
}

TEST(Signatures, OrderSwappedRows) {
  const auto tokens = [](const Values& healthy, Values& output) {
    move_row(healthy, output, 3, 5);
    move_row(healthy, output, 5, 3);
  };
  const Verdict verdict = of(tokens);
  EXPECT_EQ(signature_of(verdict), "order_swapped") << to_text(verdict);
  EXPECT_THAT(verdict.origins.front().signature_detail, HasSubstr("2 rows"));
  EXPECT_THAT(verdict.origins.front().signature_detail, HasSubstr("3 those of 5"));
  const auto samples = [](const Values& healthy, Values& output) {
    for (int64_t row = 0; row < 8; ++row) {
      move_row(healthy, output, row, row + 8);
      move_row(healthy, output, row + 8, row);
    }
  };
  EXPECT_EQ(signature_of(of(samples)), "order_swapped");
  EXPECT_NE(signature_of(of(tokens, false)), "order_swapped") << "sketches have no rows";
}

TEST(Signatures, OrderSwappedColumns) {
  const auto heads = [](const Values& healthy, Values& output) {
    for (int64_t column = 0; column < 4; ++column) {
      move_column(healthy, output, column, column + 8);
      move_column(healthy, output, column + 8, column);
    }
  };
  const Verdict verdict = of(heads);
  EXPECT_EQ(signature_of(verdict), "order_swapped") << to_text(verdict);
  EXPECT_THAT(verdict.origins.front().signature_detail, HasSubstr("8 columns"));
}

TEST(Signatures, OrderSwappedRefusesCopiesAndOtherValues) {
  const auto copied = [](const Values& healthy, Values& output) {
    move_row(healthy, output, 3, 5);
  };
  EXPECT_NE(signature_of(of(copied)), "order_swapped") << "row 3 is right";
  const auto swapped_and_scaled = [](const Values& healthy, Values& output) {
    move_row(healthy, output, 3, 5);
    move_row(healthy, output, 5, 3);
    for (int64_t i = 3 * kWidth; i < 4 * kWidth; ++i) output[static_cast<size_t>(i)] *= 1.5F;
  };
  EXPECT_NE(signature_of(of(swapped_and_scaled)), "order_swapped");
}

TEST(Signatures, Shifted) {
  const auto tokens = [](const Values& healthy, Values& output) {
    for (int64_t token = 1; token < kTokens; ++token) move_row(healthy, output, token - 1, token);
  };
  const Verdict verdict = of(tokens);
  EXPECT_EQ(signature_of(verdict), "shifted") << to_text(verdict);
  EXPECT_THAT(verdict.origins.front().signature_detail, HasSubstr("previous token"));
  const auto channels = [](const Values& healthy, Values& output) {
    for (int64_t column = 8; column < kWidth - 1; ++column) {
      move_column(healthy, output, column + 1, column);
    }
  };
  EXPECT_THAT(of(channels).origins.front().signature_detail, HasSubstr("next channel"));
  EXPECT_NE(signature_of(of(tokens, false)), "shifted");
}

TEST(Signatures, ShiftedRefusesFurtherAndSingleMoves) {
  const auto by_three = [](const Values& healthy, Values& output) {
    for (int64_t token = 3; token < kTokens; ++token) move_row(healthy, output, token - 3, token);
  };
  EXPECT_NE(signature_of(of(by_three)), "shifted");
  const auto one_copied = [](const Values& healthy, Values& output) {
    move_row(healthy, output, 4, 5);
  };
  EXPECT_NE(signature_of(of(one_copied)), "shifted");
  const auto neighbours = [](const Values& healthy, Values& output) {
    move_row(healthy, output, 4, 5);
    move_row(healthy, output, 5, 4);
  };
  EXPECT_EQ(signature_of(of(neighbours)), "order_swapped");
}

// Labels are integers: by same_data, and exactly.
TEST(Signatures, ShiftedLabels) {
  const auto labels = [](int tp, int offset, int factor) {
    TraceBuilder builder(tp);
    Values ids;
    for (int i = 0; i < 16; ++i) ids.push_back(static_cast<float>((i + offset) * factor % 97));
    for (int rank = 0; rank < tp; ++rank) {
      Tap tap{rank, "data", Phase::kForward, "labels"};
      tap.storage = trace::DType::kInt64;
      builder.add(tap, ids, copies({2, 8}));
    }
    return builder;
  };
  EXPECT_EQ(signature_of(verdict_of(labels(2, 1, 13), labels(1, 0, 13), true)), "shifted");
  EXPECT_EQ(signature_of(verdict_of(labels(2, 0, 29), labels(1, 0, 13), true)), "");
}

// Weights of two layers, stored under each other's names, or one under both.
std::string of_layers(uint64_t first, uint64_t second, bool values) {
  const auto layers = [](int tp, uint64_t a, uint64_t b) {
    TraceBuilder builder(tp);
    for (int rank = 0; rank < tp; ++rank) {
      builder.add({rank, "layers.0.fc", Phase::kForward, "param"}, normal_values(64, a),
                  copies({8, 8}));
      builder.add({rank, "layers.1.fc", Phase::kForward, "param"}, normal_values(64, b),
                  copies({8, 8}));
    }
    return builder;
  };
  return signature_of(verdict_of(layers(2, first, second), layers(1, 1, 2), values));
}

TEST(Signatures, OrderSwappedLayers) {
  EXPECT_EQ(of_layers(2, 1, false), "order_swapped");
  EXPECT_EQ(of_layers(2, 1, true), "order_swapped");
  EXPECT_NE(of_layers(2, 2, false), "order_swapped") << "one layer's weights in both";
  EXPECT_NE(of_layers(2, 3, false), "order_swapped");
}

// Two ranks gather their pieces; the result holds the pieces of `first` and `second`.
std::string of_gather(uint64_t first, uint64_t second) {
  TraceBuilder builder(2);
  const auto piece = [](uint64_t rank) { return normal_values(32, 40 + rank); };
  Values whole = piece(first);
  const Values rest = piece(second);
  whole.insert(whole.end(), rest.begin(), rest.end());
  std::vector<int64_t> sent, got;
  for (int rank = 0; rank < 2; ++rank) {
    sent.push_back(builder.add({rank, "w", Phase::kPreCollective, "param"},
                               piece(static_cast<uint64_t>(rank)), slice({8, 8}, 0, rank, 2)));
    Tap tap{rank, "w", Phase::kPostCollective, "param"};
    tap.segments = 2;
    got.push_back(builder.add(tap, whole, copies({8, 8})));
  }
  builder.collective("all_gather", {0, 1}, sent, got);
  const auto source = builder.source();
  return signature_of(judge_sources(source, nullptr, thresholds(), {}));
}

TEST(Signatures, OrderSwappedPieces) {
  EXPECT_EQ(of_gather(1, 0), "order_swapped");
  EXPECT_NE(of_gather(1, 1), "order_swapped");
  EXPECT_NE(of_gather(0, 2), "order_swapped");
  EXPECT_EQ(of_gather(0, 1), "no origin");
}

// Same layout on both sides: the shards of two ranks.
std::string of_shards(int first, int second) {
  const auto shards = [](int a, int b) {
    TraceBuilder builder(2);
    for (int rank = 0; rank < 2; ++rank) {
      builder.add({rank, "fc"}, normal_values(64, 50 + static_cast<uint64_t>(rank == 0 ? a : b)),
                  slice({16, 8}, 0, rank, 2));
    }
    return builder;
  };
  return signature_of(verdict_of(shards(first, second), shards(0, 1), false));
}

TEST(Signatures, OrderSwappedRanks) {
  EXPECT_EQ(of_shards(1, 0), "order_swapped");
  EXPECT_NE(of_shards(1, 1), "order_swapped");
  EXPECT_NE(of_shards(1, 2), "order_swapped");
}

}  // namespace
}  // namespace nanhunt::compare::test
