// SPDX-License-Identifier: Apache-2.0
// Signatures of the optimizer's bias corrections and of FP8 scales, and their twins.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "compare/judge_sources.h"
#include "tests/compare/signature_verdicts.h"

namespace nanhunt::compare::test {
namespace {

using testing::HasSubstr;
using trace::Phase;

constexpr double kRate = 1e-2, kBeta1 = 0.9, kBeta2 = 0.999, kEps = 1e-8;

// Step 4 of AdamW (counted from 1), after step 3; c1 and c2 are the corrections that it uses, and
// the update comes out `factor` times.
TraceBuilder updated(double c1, double c2, double factor = 1) {
  TraceBuilder builder;
  const Values before = normal_values(32, 1), m = normal_values(32, 2, 1e-3);
  Values v = times(normal_values(32, 3), 1e-3);
  for (float& value : v) value = value * value + 1e-8F;
  Values after = before;
  for (size_t i = 0; i < after.size(); ++i) {
    const double update = kRate * (m[i] / c1) / (std::sqrt(v[i] / c2) + kEps);
    after[i] = static_cast<float>(before[i] - factor * update);
  }
  for (int64_t step = 2; step <= 3; ++step) {
    builder.begin_step(step);
    Tap tap{0, "w", Phase::kUpdate, "master"};
    tap.op = "adamw";
    tap.attributes = R"({"lr":0.01,"beta1":0.9,"beta2":0.999,"eps":1e-8,"weight_decay":0,"step":)" +
                     std::to_string(step + 1) + "}";
    builder.add(tap, step == 2 ? before : after, copies({32}));
    tap.role = "exp_avg";
    builder.add(tap, m, copies({32}));
    tap.role = "exp_avg_sq";
    builder.add(tap, v, copies({32}));
  }
  return builder;
}

double correction(double beta, double step) {
  return 1 - std::pow(beta, step);
}

Verdict of_update(double step, double factor = 1) {
  return scan_with_values(updated(correction(kBeta1, step), correction(kBeta2, step), factor));
}

TEST(Signatures, AdamBiasCorrection) {
  for (const double step : {3, 5, 1}) {
    const Verdict verdict = of_update(step);
    EXPECT_EQ(signature_of(verdict), "adam_bias_correction") << to_text(verdict);
    EXPECT_THAT(verdict.origins.front().signature_detail,
                HasSubstr("of step " + std::to_string(static_cast<int>(step)) + " at step 4"));
  }
  const Verdict none = scan_with_values(updated(1, 1));
  EXPECT_THAT(none.origins.front().signature_detail, HasSubstr("no bias correction"));
  const Verdict first = scan_with_values(updated(correction(kBeta1, 4), 1));
  EXPECT_THAT(first.origins.front().signature_detail, HasSubstr("first moment alone"));
}

TEST(Signatures, AdamBiasCorrectionRefusesOtherUpdates) {
  EXPECT_EQ(signature_of(of_update(4)), "no origin");
  EXPECT_EQ(signature_of(of_update(4, 1.2)), "") << "another learning rate";
  EXPECT_EQ(signature_of(of_update(3, 1.01)), "");
}

// A scale over two ranks, whose parts have another absmax each: 448 over what `absmax_of` says.
std::string of_scales(const std::string& role, const std::function<double(int, double)>& value) {
  TraceBuilder builder(2);
  for (int rank = 0; rank < 2; ++rank) {
    const Values part = normal_values(64, 10 + static_cast<uint64_t>(rank));
    double absmax = 0;
    for (const float element : part) absmax = std::max(absmax, std::abs(double{element}));
    const int64_t operand = builder.add({rank, "x"}, part, slice({2, 8, 8}, 0, rank, 2));
    builder.scalar({rank, "fc", Phase::kForward, role, {operand}}, value(rank, absmax));
  }
  const auto source = builder.source();
  return signature_of(judge_sources(source, nullptr, thresholds(), {}));
}

TEST(Signatures, ScaleOfAmaxGroup) {
  const auto scale = [](int, double absmax) { return 448 / absmax; };
  EXPECT_EQ(of_scales("scale", scale), "scale_of_amax_group");
  const auto inverse = [](int, double absmax) { return absmax / 448; };
  EXPECT_EQ(of_scales("scale_inv", inverse), "scale_of_amax_group");
  const auto amax = [](int, double absmax) { return absmax; };
  EXPECT_EQ(of_scales("amax", amax), "scale_of_amax_group");
}

TEST(Signatures, ScaleOfAmaxGroupRefusesOtherDifferences) {
  const auto shared = [](int, double) { return 100.0; };
  EXPECT_EQ(of_scales("scale", shared), "no origin");
  const auto other = [](int rank, double absmax) { return (448 + 30 * rank) / absmax; };
  EXPECT_NE(of_scales("scale", other), "scale_of_amax_group");
  const auto loss = [](int, double absmax) { return 448 / absmax; };
  EXPECT_NE(of_scales("loss_scale", loss), "scale_of_amax_group");
}

// y = x w^T on two ranks whose x have the scales 4 and 10; rank 1's product comes out `factor`
// times.
std::string of_products(double factor) {
  TraceBuilder builder(2);
  for (int rank = 0; rank < 2; ++rank) {
    const Values input = normal_values(16 * 4, 1);
    const Values weight = normal_values(32 * 4, 2 + static_cast<uint64_t>(rank));
    Values output(16 * 32);
    for (size_t i = 0; i < output.size(); ++i) {
      double sum = 0;
      for (size_t k = 0; k < 4; ++k) sum += double{input[i / 32 * 4 + k]} * weight[i % 32 * 4 + k];
      output[i] = static_cast<float>(rank == 1 ? factor * sum : sum);
    }
    Tap tap{rank, "fc", Phase::kForward, "input"};
    tap.attributes = rank == 0 ? R"({"scale":4})" : R"({"scale":10})";
    const int64_t x = builder.add(tap, input, copies({16, 4}));
    const int64_t w = builder.add({rank, "fc.weight", Phase::kForward, "param"}, weight,
                                  slice({64, 4}, 0, rank, 2));
    tap = {rank, "fc"};
    tap.op = "linear";
    tap.links = {x, w};
    builder.add(tap, output, slice({16, 64}, 1, rank, 2));
  }
  return signature_of(scan_with_values(builder));
}

TEST(Signatures, ScaleOfAmaxGroupInAProduct) {
  EXPECT_EQ(of_products(2.5), "scale_of_amax_group");
  EXPECT_EQ(of_products(0.4), "scale_of_amax_group");
  EXPECT_EQ(of_products(2.51), "constant_ratio");
  EXPECT_EQ(of_products(1), "no origin");
}

}  // namespace
}  // namespace nanhunt::compare::test
