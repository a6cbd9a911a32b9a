// SPDX-License-Identifier: Apache-2.0
// Signatures of NaN and Inf, and their twins.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/compare/signature_verdicts.h"

namespace nanhunt::compare::test {
namespace {

using trace::Phase;

// Attention output of 2 samples x 4 tokens; the mask shuts one row, another row is NaN.
TraceBuilder attention_trace(int tp, int shut_row, int nan_row) {
  TraceBuilder builder(tp);
  for (int rank = 0; rank < tp; ++rank) {
    Values mask(2 * 4 * 4, 0);
    for (int key = 0; key < 4 && shut_row >= 0; ++key)
      mask[static_cast<size_t>(shut_row * 4 + key)] = 1;
    Tap tap{rank, "core_attention", Phase::kForward, "mask"};
    tap.storage = trace::DType::kBool;
    tap.attributes = R"({"true":"masked"})";
    builder.add(tap, mask, copies({2, 4, 4}));
    const Values whole = normal_values(2 * 4 * 8, 5);
    Values output = columns(whole, 8, rank * 8 / tp, 8 / tp);
    for (int c = 0; c < 8 / tp && nan_row >= 0; ++c)
      output[static_cast<size_t>(nan_row * 8 / tp + c)] = NAN;
    builder.add({rank, "core_attention", Phase::kForward, "output", {0}}, output,
                slice({2, 4, 8}, 2, rank, tp));
  }
  return builder;
}

TEST(Signatures, MaskedRow) {
  const Verdict verdict = verdict_of(attention_trace(2, 5, 5), attention_trace(1, 5, -1), true);
  EXPECT_EQ(verdict.kind, VerdictKind::kNonFinite);
  EXPECT_EQ(signature_of(verdict), "masked_row") << to_text(verdict);
  EXPECT_THAT(verdict.origins.front().finding.ranks, testing::ElementsAre(0, 1));
}

TEST(Signatures, MaskedRowRefusesOtherRowsAndSketches) {
  EXPECT_NE(signature_of(verdict_of(attention_trace(2, 5, 2), attention_trace(1, 5, -1), true)),
            "masked_row");
  EXPECT_NE(signature_of(verdict_of(attention_trace(2, 5, 5), attention_trace(1, 5, -1), false)),
            "masked_row");
}

// y = x w^T in FP16; one weight row is large, or the Inf is planted into a harmless product.
TraceBuilder product_trace(double row_scale, bool planted) {
  TraceBuilder builder;
  const Values input = normal_values(6 * 8, 1);
  Values weight = normal_values(4 * 8, 2);
  for (int k = 0; k < 8; ++k) weight[static_cast<size_t>(8 + k)] *= static_cast<float>(row_scale);
  Values output(6 * 4);
  for (size_t r = 0; r < 6; ++r) {
    for (size_t n = 0; n < 4; ++n) {
      double sum = 0;
      for (size_t k = 0; k < 8; ++k) sum += double{input[r * 8 + k]} * weight[n * 8 + k];
      output[r * 4 + n] = static_cast<float>(sum);
    }
  }
  if (planted) output[5] = INFINITY;
  Tap tap{0, "fc.weight", Phase::kForward, "param"};
  tap.storage = trace::DType::kFloat16;
  builder.add(tap, weight, copies({4, 8}));
  tap.site = "norm";
  tap.role = "output";
  builder.add(tap, input, copies({6, 8}));
  tap.site = "fc";
  tap.op = "linear";
  tap.links = {0, 1};
  builder.add(tap, output, copies({6, 4}));
  return builder;
}

TEST(Signatures, OverflowInProduct) {
  const Verdict verdict = scan_with_values(product_trace(60000, false));
  EXPECT_EQ(signature_of(verdict), "overflow_in_product") << to_text(verdict);
}

TEST(Signatures, OverflowInProductRefusesAnInfOfASmallProduct) {
  const Verdict verdict = scan_with_values(product_trace(1, true));
  ASSERT_EQ(verdict.kind, VerdictKind::kNonFinite);
  EXPECT_EQ(signature_of(verdict), "") << to_text(verdict);
}

}  // namespace
}  // namespace nanhunt::compare::test
