// SPDX-License-Identifier: Apache-2.0
// Norms that round differently are no failure, nor what they scale; anything else is.
#include "compare/norm_factor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "compare/judge_sources.h"
#include "tests/compare/trace_builder.h"

namespace nanhunt::compare::test {
namespace {

using trace::Phase;

constexpr double kHealthy = 4e-7;
constexpr int kElements = 64;
const double kRounding = 8 * std::sqrt(kElements) * trace::unit_roundoff(trace::DType::kFloat32);

// Four gradients; `edit` changes them by number. With a clip: the norm is off by `norm`, relative,
// and the clipped gradients are what is edited.
struct Step {
  bool clips = false;
  double norm = 0;
  std::function<void(int, Values&)> edit = [](int, Values&) {};
};

TraceBuilder build(const Step& step) {
  TraceBuilder builder;
  double squares = 0;
  const char* sites[] = {"embedding.weight", "fc1.weight", "norm.weight", "fc2.weight"};
  std::vector<Values> gradients;
  for (int i = 0; i < 4; ++i) {
    gradients.push_back(normal_values(kElements, 40 + static_cast<uint64_t>(i)));
    for (const float value : gradients.back()) squares += double{value} * value;
    Values unscaled = gradients.back();
    if (!step.clips) step.edit(i, unscaled);
    builder.add({0, sites[i], Phase::kUnscaled, "grad"}, unscaled, copies({kElements}));
  }
  if (!step.clips) return builder;
  const double norm = std::sqrt(squares) * (1 + step.norm), factor = 1 / (norm + 1e-6);
  builder.scalar({0, "optimizer", Phase::kClipped, "grad_norm"}, norm);
  Tap tap{0, "optimizer", Phase::kClipped, "clip_factor"};
  tap.attributes = R"({"max_norm":1})";
  builder.scalar(tap, factor);
  for (int i = 0; i < 4; ++i) {
    Values clipped = times(gradients[static_cast<size_t>(i)], factor);
    step.edit(i, clipped);
    builder.add({0, sites[i], Phase::kClipped, "grad"}, clipped, copies({kElements}));
  }
  return builder;
}

Verdict judged(const Step& step) {
  const TraceBuilder mine = build(step), other = build({step.clips});
  const auto candidate = mine.source(), reference = other.source();
  const auto envelope = envelope_around(reference, kHealthy);
  JudgeOptions options;
  options.envelope = &envelope;
  return judge_sources(candidate, &reference, thresholds(), options);
}

Step with_factor(double factor, int only = -1) {
  return {false, 0, [=](int i, Values& values) {
            if (only < 0 || i == only) values = times(values, factor);
          }};
}

TEST(NormFactor, OneOfAllGradientsWithinItsRoundingIsHealthy) {
  const Verdict verdict = judged(with_factor(1 + 0.8 * kRounding));
  EXPECT_EQ(verdict.kind, VerdictKind::kClean) << to_text(verdict);
}

TEST(NormFactor, BeyondItsRoundingItIsNot) {
  EXPECT_EQ(judged(with_factor(1 + 2 * kRounding)).kind, VerdictKind::kDivergence);
}

TEST(NormFactor, OfOneGradientAloneItIsNot) {
  const Verdict verdict = judged(with_factor(1 + 0.8 * kRounding, 2));
  ASSERT_EQ(verdict.origins.size(), 1u) << to_text(verdict);
  EXPECT_EQ(verdict.origins.front().finding.what.site, "norm.weight");
}

TEST(NormFactor, HidesNoOtherErrorOfAGradient) {
  const Verdict verdict = judged({false, 0, [](int i, Values& values) {
                                    values = times(values, 1 + 0.8 * kRounding);
                                    if (i == 1) values[5] += 1e-3F;
                                  }});
  ASSERT_FALSE(verdict.origins.empty());
  EXPECT_EQ(verdict.origins.front().finding.what.site, "fc1.weight") << to_text(verdict);
}

TEST(NormFactor, OfTheNormItselfReachesTheClippedGradients) {
  const Verdict verdict = judged({true, 0.4 * kRounding});
  EXPECT_EQ(verdict.kind, VerdictKind::kClean) << to_text(verdict);
  EXPECT_EQ(judged({true, 2 * kRounding}).kind, VerdictKind::kDivergence);
}

}  // namespace
}  // namespace nanhunt::compare::test
