// SPDX-License-Identifier: Apache-2.0
// What a judgement leaves for a report: measurements of one step in order, losses of all; and that
// a verdict reads back from its JSON.
#include "compare/measurements.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "compare/judge_sources.h"
#include "tests/compare/signature_verdicts.h"
#include "trace/error.h"

namespace nanhunt::compare::test {
namespace {

using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using trace::Phase;

Verdict against_reference(SmallModel model, double noise = kHealthy) {
  model.noise = noise;
  const TraceBuilder mine = build(model), other = build({.steps = model.steps});
  const auto candidate = mine.source("candidate"), trusted = other.source("reference");
  const auto envelope = envelope_around(trusted, kHealthy);
  JudgeOptions options;
  options.envelope = &envelope;
  return judge_sources(candidate, &trusted, thresholds(), options);
}

size_t index_of(const Verdict& verdict, const std::string& site, Phase phase,
                const std::string& role, const std::string& rule = "reference_envelope") {
  const auto& list = verdict.measurements;
  const auto found = std::ranges::find_if(list, [&](const Measurement& each) {
    return each.what.site == site && each.what.phase == phase && each.what.role == role &&
           each.rule == rule;
  });
  EXPECT_NE(found, list.end()) << site;
  return static_cast<size_t>(found - list.begin());
}

size_t out(const Verdict& verdict) {
  return static_cast<size_t>(
      std::ranges::count(verdict.measurements, "out", &Measurement::standing));
}

TEST(Measurements, HoldAllJudgedPlacesInHappensBeforeOrder) {
  const Verdict verdict = against_reference({.tp = 2});
  EXPECT_THAT(verdict.measurements, Not(IsEmpty()));
  EXPECT_EQ(out(verdict), 0U);
  const size_t fc1 = index_of(verdict, "fc1", Phase::kForward, "output");
  const size_t fc2 = index_of(verdict, "fc2", Phase::kForward, "output");
  const size_t grad = index_of(verdict, "norm.weight", Phase::kUnscaled, "grad");
  EXPECT_LT(fc1, fc2) << "fc1 comes first, by name and by order";
  EXPECT_LT(fc2, grad);
  EXPECT_LT(index_of(verdict, "norm", Phase::kForward, "output"), fc1) << "not by name";
  const Measurement& healthy = verdict.measurements[fc1];
  EXPECT_EQ(healthy.standing, "within");
  EXPECT_GT(healthy.measured, 0);
  EXPECT_GT(healthy.allowed, healthy.measured);
}

TEST(Measurements, AreOfTheFirstStepThatHasAFinding) {
  SmallModel model{.tp = 2, .steps = 3};
  model.edit = [](const Tap& tap, Values& values) {
    if (tap.step < 1 || !at(tap, "fc2")) return;
    for (float& value : values) value *= 1.5F;
  };
  const Verdict verdict = against_reference(model);
  ASSERT_THAT(verdict.origins, Not(IsEmpty()));
  for (const Measurement& each : verdict.measurements) EXPECT_EQ(each.what.step, 1);
  const Measurement& wrong =
      verdict.measurements[index_of(verdict, "fc2", Phase::kForward, "output")];
  EXPECT_EQ(wrong.standing, "out");
  EXPECT_NEAR(wrong.measured, 0.5, 0.1);
  EXPECT_GT(excess(wrong), 1);
}

TEST(Measurements, OfACleanRunAreOfTheStepClosestToABound) {
  for (const int64_t nudged : {0, 1, 2}) {
    SmallModel model{.tp = 2, .steps = 3};
    model.edit = [=](const Tap& tap, Values& values) {
      if (tap.step != nudged || !at(tap, "norm")) return;
      for (float& value : values) value *= 1.001F;  // what is healthy
    };
    const Verdict verdict = against_reference(model, 0);
    ASSERT_EQ(verdict.kind, VerdictKind::kClean) << to_text(verdict);
    ASSERT_THAT(verdict.measurements, Not(IsEmpty()));
    for (const Measurement& each : verdict.measurements) EXPECT_EQ(each.what.step, nudged);
    const size_t norm = index_of(verdict, "norm", Phase::kForward, "output");
    EXPECT_GT(excess(verdict.measurements[norm]), 0);
    EXPECT_LT(excess(verdict.measurements[norm]), 1);
  }
}

TEST(Measurements, OfAScanAreItsFindings) {
  SmallModel model{.tp = 2};
  model.edit = [](const Tap& tap, Values& values) {
    if (at(tap, "norm.weight", Phase::kUnscaled, "grad") && tap.rank == 1) values[0] += 1;
  };
  const TraceBuilder builder = build(model);
  const Verdict verdict = judge_sources(builder.source(), nullptr, thresholds(), {});
  EXPECT_EQ(out(verdict), verdict.measurements.size());
  const auto& measured = verdict.measurements[index_of(verdict, "norm.weight", Phase::kUnscaled,
                                                       "grad", "replicas_equal")];
  EXPECT_EQ(measured.measured, 2);
  EXPECT_EQ(measured.allowed, 1);
  EXPECT_THAT(judge_sources(build({.tp = 2}).source(), nullptr, thresholds(), {}).measurements,
              IsEmpty());
}

TEST(Excess, IsAPositiveNumberOfAnything) {
  const auto of = [](double measured, double allowed) {
    return excess({{}, "rule", "", "out", measured, allowed});
  };
  EXPECT_EQ(of(3, 2), 1.5);
  EXPECT_EQ(of(0, 0), 0);
  EXPECT_EQ(of(0, 7), 0);
  for (const auto& [measured, allowed] :
       {std::pair{1.0, 0.0}, {double{NAN}, 1.0}, {1.0, double{NAN}}, {double{INFINITY}, 1.0}}) {
    EXPECT_EQ(of(measured, allowed), INFINITY);
  }
}

// The loss as a mean over two ranks, each holding what its samples add.
TraceBuilder shared_loss(double first, double second) {
  TraceBuilder builder(2);
  const double parts[] = {first, second};
  for (int rank = 0; rank < 2; ++rank) {
    auto placement = partial({1});
    placement.mesh.front().divisor = 2;
    builder.add({rank, "loss", Phase::kLoss, "loss"}, {static_cast<float>(parts[rank])}, placement);
  }
  return builder;
}

TEST(Losses, AreThoseOfTheLogicalTensorOnBothSides) {
  TraceBuilder one;
  one.scalar({0, "loss", Phase::kLoss, "loss"}, 4.5);
  const auto loss_of = [&](const TraceBuilder& builder) {
    const auto reference = one.source();
    const auto losses = judge_sources(builder.source(), &reference, thresholds(), {}).losses;
    EXPECT_THAT(losses, SizeIs(1));
    return losses.empty() ? Loss{} : losses.front();
  };
  const Loss loss = loss_of(shared_loss(4, 6));
  EXPECT_EQ(loss.candidate, 5);
  EXPECT_EQ(loss.reference, 4.5);
  EXPECT_TRUE(std::isnan(loss_of(shared_loss(4, NAN)).candidate));
  EXPECT_EQ(loss_of(shared_loss(INFINITY, 1)).candidate, INFINITY);
  EXPECT_TRUE(std::isnan(loss_of(shared_loss(INFINITY, -INFINITY)).candidate));
  const auto alone = judge_sources(one.source(), nullptr, thresholds(), {}).losses;
  ASSERT_THAT(alone, SizeIs(1));
  EXPECT_FALSE(alone.front().reference);
}

TEST(VerdictJson, ReadsBackWhatWasWritten) {
  SmallModel wrong{.tp = 2, .steps = 2};
  wrong.edit = [](const Tap& tap, Values& values) {
    if (at(tap, "fc2")) values[0] = NAN;
  };
  Verdict odd = against_reference(wrong);
  odd.origins.front().finding.measured = -INFINITY;
  odd.losses = {{3, "loss", "output", NAN, -INFINITY}, {4, "loss", "output", 1, {}}};
  odd.cause = Cause{"a explains it", {"a"}, true, {"b"}, {"c: time"}};
  odd.semantic_changes = {{"gelu.tanh", "1", "0", {"fc1"}, true}};
  for (const Verdict& verdict : {odd, against_reference({.tp = 2}), Verdict{}}) {
    const auto json = to_json(verdict);
    EXPECT_EQ(to_json(verdict_from_json(json)), json);
  }
  EXPECT_EQ(to_text(verdict_from_json(to_json(odd))), to_text(odd));
  auto other = to_json(odd);
  other["origins"][0]["finding"]["measured"] = "Infinite";
  EXPECT_THROW(verdict_from_json(other), trace::Error);
}

}  // namespace
}  // namespace nanhunt::compare::test
