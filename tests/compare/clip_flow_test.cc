// SPDX-License-Identifier: Apache-2.0
// A gradient that goes wrong before clipping is the one origin: norm, factor and all clipped
// gradients are passed on from it, though no link joins them. Each has a twin that went wrong by
// itself.
#include "compare/clip_flow.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "compare/judge_sources.h"
#include "tests/compare/signature_verdicts.h"

namespace nanhunt::compare::test {
namespace {

using trace::Phase;

constexpr int kParameters = 4;
const char* const kSites[kParameters] = {"embedding.weight", "fc1.weight", "fc2.weight", "head"};

struct Faults {
  Edit before = [](const Tap&, Values&) {};  // unscaled gradients: norm and factor follow them
  double norm = 1, factor = 1;               // times what they should be
  Edit after = [](const Tap&, Values&) {};   // clipped gradients
};

// Whole gradients on each rank, clipped to `max_norm`, without a single link.
TraceBuilder clipped_step(int ranks, const Faults& faults, double max_norm = 1) {
  TraceBuilder builder(1, ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    double squares = 0;
    std::vector<Values> gradients;
    for (int i = 0; i < kParameters; ++i) {
      gradients.push_back(normal_values(64, 40 + static_cast<uint64_t>(i)));
      const Tap tap{rank, kSites[i], Phase::kUnscaled, "grad"};
      faults.before(tap, gradients.back());
      for (const float value : gradients.back()) squares += double{value} * value;
      builder.add(tap, gradients.back(), copies({64}));
    }
    const double norm = std::sqrt(squares) * faults.norm;
    const double factor = std::fmin(1, max_norm / (norm + 1e-6)) * faults.factor;
    const double used = std::isnan(norm) ? norm : factor;
    builder.scalar({rank, "optimizer", Phase::kClipped, "grad_norm"}, norm);
    builder.scalar({rank, "optimizer", Phase::kClipped, "clip_factor"}, used);
    for (int i = 0; i < kParameters; ++i) {
      const Tap tap{rank, kSites[i], Phase::kClipped, "grad"};
      Values values = times(gradients[static_cast<size_t>(i)], static_cast<float>(used));
      faults.after(tap, values);
      builder.add(tap, values, copies({64}));
    }
  }
  return builder;
}

// "site role" of each origin.
std::vector<std::string> origins_of(const Faults& faults, double max_norm = 1) {
  const Verdict verdict =
      verdict_of(clipped_step(2, faults, max_norm), clipped_step(1, {}, max_norm), false);
  std::vector<std::string> found;
  for (const Origin& origin : verdict.origins)
    found.push_back(origin.finding.what.site + " " + origin.finding.what.role);
  return found;
}

Edit wrong_at(const std::string& site, float value) {
  return [=](const Tap& tap, Values& values) {
    if (tap.site == site) values[5] = value;
  };
}

using testing::ElementsAre;

TEST(ClipFlow, NormFactorAndAllGradientsArePassedOnFromOneThatIsWrong) {
  EXPECT_THAT(origins_of({.before = wrong_at("fc1.weight", 40)}), ElementsAre("fc1.weight grad"));
  EXPECT_THAT(origins_of({.before = wrong_at("fc1.weight", NAN)}), ElementsAre("fc1.weight grad"));
  EXPECT_THAT(origins_of({}), ElementsAre());
}

TEST(ClipFlow, ANormThatIsWrongByItselfIsTheOrigin) {
  EXPECT_THAT(origins_of({.norm = 1.5}), ElementsAre("optimizer grad_norm"));
}

TEST(ClipFlow, AFactorThatIsWrongByItselfIsTheOrigin) {
  EXPECT_THAT(origins_of({.factor = 0.5}), ElementsAre("optimizer clip_factor"));
}

TEST(ClipFlow, AClippedGradientThatIsWrongByItselfIsAnOrigin) {
  EXPECT_THAT(origins_of({.after = wrong_at("head", 3)}), ElementsAre("head grad"));
  EXPECT_THAT(origins_of({.after = wrong_at("head", NAN)}), ElementsAre("head grad"));
}

TEST(ClipFlow, AFactorOfOneMovesNothing) {
  const TraceBuilder builder = clipped_step(1, {}, 1e6);
  const trace::Step step = builder.step(0);
  std::vector<std::vector<int>> inputs(step.records.size());
  add_clip_inputs(step, inputs);
  EXPECT_THAT(inputs[kParameters], ElementsAre(0, 1, 2, 3)) << "the norm";
  EXPECT_TRUE(inputs.back().empty());
  const trace::Step clipped = clipped_step(1, {}).step(0);
  inputs.assign(clipped.records.size(), {});
  add_clip_inputs(clipped, inputs);
  EXPECT_THAT(inputs[kParameters + 1], ElementsAre(kParameters)) << "the factor";
  EXPECT_THAT(inputs.back(), ElementsAre(kParameters + 1));
}

// Whether all that went into it was healthy is not known.
TEST(ClipFlow, ANormOfStrangersHasNoInputs) {
  for (const bool strangers : {false, true}) {
    TraceBuilder builder;
    builder.add({0, "w", Phase::kUnscaled, "grad"}, normal_values(64, 1), copies({64}));
    Tap norm{0, "optimizer", Phase::kClipped, "grad_norm"};
    if (strangers) norm.attributes = R"({"strangers":1})";
    builder.scalar(norm, 8);
    const trace::Step step = builder.step(0);
    std::vector<std::vector<int>> inputs(step.records.size());
    add_clip_inputs(step, inputs);
    EXPECT_EQ(inputs[1].empty(), strangers);
  }
}

}  // namespace
}  // namespace nanhunt::compare::test
