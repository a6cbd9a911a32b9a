// SPDX-License-Identifier: Apache-2.0
// Signatures of the loss and its scale, and their twins.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tests/compare/signature_verdicts.h"

namespace nanhunt::compare::test {
namespace {

using testing::HasSubstr;
using trace::Phase;

// Losses of tokens around 5, on tp ranks, and their mean.
TraceBuilder losses(int tp, const std::function<void(Values&)>& edit) {
  TraceBuilder builder(tp);
  for (int rank = 0; rank < tp; ++rank) {
    Values tokens = plus(normal_values(16, 1), Values(16, 5));
    edit(tokens);
    double sum = 0;
    for (const float loss : tokens) sum += loss / 16;
    builder.add({rank, "loss", Phase::kLoss, "token_loss"}, tokens, copies({2, 8}));
    builder.scalar({rank, "loss", Phase::kLoss, "loss"}, sum);
  }
  return builder;
}

Verdict of_losses(const std::function<void(Values&)>& edit, bool values = false) {
  return verdict_of(losses(2, edit), losses(1, [](Values&) {}), values);
}

std::function<void(Values&)> shift(double by) {
  return [=](Values& tokens) {
    for (float& loss : tokens) loss += static_cast<float>(by);
  };
}

TEST(Signatures, OffByLogOfASize) {
  for (const bool values : {false, true}) {
    const Verdict verdict = of_losses(shift(std::log(2)), values);
    EXPECT_EQ(signature_of(verdict), "off_by_log_size") << to_text(verdict);
    EXPECT_THAT(verdict.origins.front().signature_detail, HasSubstr("2 the size of tp"));
  }
  EXPECT_EQ(signature_of(of_losses(shift(-std::log(2)))), "off_by_log_size");
}

TEST(Signatures, OffByLogOfASizeRefusesOtherShiftsAndWhatIsNoShift) {
  EXPECT_NE(signature_of(of_losses(shift(0.8))), "off_by_log_size");
  EXPECT_NE(signature_of(of_losses(shift(std::log(3)))), "off_by_log_size") << "no axis of 3";
  const auto stretch = [](Values& tokens) { tokens = times(tokens, 1 + std::log(2) / 5); };
  EXPECT_NE(signature_of(of_losses(stretch)), "off_by_log_size");
  const auto few = [](Values& tokens) { tokens[3] += static_cast<float>(std::log(2)); };
  EXPECT_NE(signature_of(of_losses(few)), "off_by_log_size");
}

TraceBuilder mean_loss(int tp, double loss) {
  TraceBuilder builder(tp);
  for (int rank = 0; rank < tp; ++rank) {
    builder.scalar({rank, "loss", Phase::kLoss, "loss"}, loss);
  }
  return builder;
}

TEST(Signatures, OffByLogOfASizeInTheMeanAlone) {
  const auto of = [](double loss) {
    return signature_of(verdict_of(mean_loss(2, loss), mean_loss(1, 5), false));
  };
  EXPECT_EQ(of(5 + std::log(2)), "off_by_log_size");
  EXPECT_NE(of(5.75), "off_by_log_size");
}

// Gradients of three parameters, `factor` times too large, under a loss scale (0: not recorded).
TraceBuilder scaled_gradients(int tp, double scale, double factor, double norm_factor = 0) {
  TraceBuilder builder(tp);
  for (int rank = 0; rank < tp; ++rank) {
    if (scale > 0) builder.scalar({rank, "optimizer", Phase::kUnscaled, "loss_scale"}, scale);
    double squares = 0;
    for (const std::string site : {"a", "b", "c"}) {
      const Values gradient = times(normal_values(64, std::hash<std::string>()(site)), factor);
      for (const float value : gradient) squares += double{value} * value;
      builder.add({rank, site, Phase::kUnscaled, "grad"}, gradient, copies({64}));
    }
    if (norm_factor > 0) {
      builder.scalar({rank, "optimizer", Phase::kClipped, "grad_norm"},
                     norm_factor * std::sqrt(squares));
    }
  }
  return builder;
}

Verdict of_scaled(double scale, double factor, bool values = false) {
  return verdict_of(scaled_gradients(2, scale, factor), scaled_gradients(1, 0, 1), values);
}

TEST(Signatures, LossScaleLeftIn) {
  for (const bool values : {false, true}) {
    EXPECT_EQ(signature_of(of_scaled(1024, 1024, values)), "loss_scale_left_in");
  }
  const Verdict twice = of_scaled(1024, 1.0 / 1024);
  EXPECT_EQ(signature_of(twice), "loss_scale_left_in");
  EXPECT_THAT(twice.origins.front().signature_detail, HasSubstr("1 over the loss scale 1024"));
}

TEST(Signatures, LossScaleLeftInTheNorm) {
  const auto of = [](double factor) {
    return signature_of(
        verdict_of(scaled_gradients(1, 1024, 1, factor), scaled_gradients(1, 0, 1, 1), false));
  };
  EXPECT_EQ(of(1024), "loss_scale_left_in");
  EXPECT_NE(of(1000), "loss_scale_left_in");
}

TEST(Signatures, LossScaleLeftInRefusesOtherRatios) {
  EXPECT_EQ(signature_of(of_scaled(1024, 1000)), "constant_ratio");
  EXPECT_EQ(signature_of(of_scaled(0, 1024)), "constant_ratio") << "no scale recorded";
  EXPECT_EQ(signature_of(of_scaled(2, 2)), "constant_ratio") << "the size of tp as well";
}

}  // namespace
}  // namespace nanhunt::compare::test
