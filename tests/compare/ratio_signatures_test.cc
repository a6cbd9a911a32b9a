// SPDX-License-Identifier: Apache-2.0
// Signatures of factors: each recognises its shape of wrongness and refuses a twin that is wrong in
// another way.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tests/compare/signature_verdicts.h"

namespace nanhunt::compare::test {
namespace {

using testing::HasSubstr;
using trace::Phase;

TEST(Signatures, ConstantRatio) {
  const Verdict verdict = verdict_of([](const Tap& tap, Values& values) {
    if (at(tap, "norm")) values = times(values, 2);
  });
  EXPECT_EQ(signature_of(verdict), "constant_ratio") << to_text(verdict);
  EXPECT_THAT(verdict.origins.front().signature_detail, HasSubstr("the size of tp"));
}

// A factor of the size of a group says what was done to a sum over it; the detail names all axes of
// that size.
TEST(Signatures, ConstantRatioOfAGradientNamesAxesAndOperation) {
  const auto detail_of = [](double factor) {
    const auto gradient = [](int dp, double times_too_large) {
      TraceBuilder builder(2, dp);
      for (int rank = 0; rank < 2 * dp; ++rank) {
        builder.add({rank, "w", Phase::kUnscaled, "grad"},
                    times(normal_values(64, 1), times_too_large), copies({64}));
      }
      return builder;
    };
    const Verdict verdict = verdict_of(gradient(2, factor), gradient(1, 1), false);
    EXPECT_EQ(signature_of(verdict), "constant_ratio") << to_text(verdict);
    return verdict.origins.front().signature_detail;
  };
  EXPECT_THAT(detail_of(2), HasSubstr("the size of tp or dp (not averaged"));
  EXPECT_THAT(detail_of(0.5), HasSubstr("1 over the size of tp or dp (averaged"));
  EXPECT_THAT(detail_of(3), testing::Not(HasSubstr("average")));
}

TEST(Signatures, ConstantRatioRefusesOtherDeviations) {
  const Verdict verdict = verdict_of([](const Tap& tap, Values& values) {
    if (at(tap, "norm")) values = plus(values, normal_values(values.size(), 99));
  });
  EXPECT_EQ(signature_of(verdict), "") << to_text(verdict);
}

// The gradient of a weight that two places share, of which one place's is missing: what is left is
// small against the whole, and `left` of it is no multiple of it.
std::string of_small_rest(double ratio, double left) {
  const auto gradient = [](int tp, const Values& values) {
    TraceBuilder builder(tp);
    for (int rank = 0; rank < tp; ++rank)
      builder.add({rank, "w", Phase::kUnscaled, "grad"}, values, copies({64}));
    return builder;
  };
  const Values whole = normal_values(64, 1), other = normal_values(64, 2, left);
  return signature_of(
      verdict_of(gradient(2, plus(times(whole, ratio), other)), gradient(1, whole), false));
}

TEST(Signatures, ConstantRatioRefusesTheRestOfATensorThatLostMostTerms) {
  EXPECT_EQ(of_small_rest(0, 0.12), "");
  EXPECT_EQ(of_small_rest(0.1, 0.12), "");
  EXPECT_EQ(of_small_rest(0.1, 0.005), "constant_ratio");
  EXPECT_EQ(of_small_rest(0.5, 0.05), "constant_ratio");
}

// The second step: an update has moved the bias, more than the product may deviate, and the product
// comes out `ratio` times, with `further` noise of its own.
Verdict scaled_under_moved_bias(double ratio, double further) {
  constexpr double kNoise = 0.07;
  SmallModel model{.tp = 2, .steps = 2, .noise = kNoise};
  model.edit = [=](const Tap& tap, Values& values) {
    if (tap.step == 0) return;
    const auto seed = std::hash<std::string>()("fc2.bias") + static_cast<uint64_t>(tap.step);
    const Values bias = normal_values(kChannels, seed, 0.5);
    const Values moved = plus(bias, normal_values(kChannels, 77, 0.3));
    if (at(tap, "fc2.bias", Phase::kForward, "param")) values = moved;
    if (!at(tap, "fc2")) return;
    const Values noise = normal_values(values.size(), 78, further);
    for (size_t i = 0; i < values.size(); ++i) {
      const auto product = static_cast<double>(values[i] - bias[i % kChannels]);
      values[i] = static_cast<float>(ratio * product + noise[i] + moved[i % kChannels]);
    }
  };
  return verdict_of(build(model), build({.steps = 2}), true, kNoise);
}

TEST(Signatures, ConstantRatioUnderABiasThatMoved) {
  const Verdict verdict = scaled_under_moved_bias(4.0 / 3, 0);
  EXPECT_EQ(signature_at("fc2", verdict), "constant_ratio") << to_text(verdict);
}

TEST(Signatures, ConstantRatioUnderABiasRefusesNoise) {
  EXPECT_EQ(signature_at("fc2", scaled_under_moved_bias(1, 0.5)), "");
  EXPECT_EQ(signature_at("fc2", scaled_under_moved_bias(4.0 / 3, 0.5)), "");
}

}  // namespace
}  // namespace nanhunt::compare::test
