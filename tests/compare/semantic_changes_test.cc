// SPDX-License-Identifier: Apache-2.0
// What two configurations say that ops compute differently is predicted, and excused only where it
// is intended, and only there.
#include "compare/semantic_changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compare/judge.h"
#include "compare/judge_sources.h"
#include "tests/compare/trace_builder.h"

namespace nanhunt::compare::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using trace::Phase;

constexpr double kHealthy = 1e-3;

// A norm and an activation of one input, a sum of them, and a branch beside; two steps, between
// which `fc.weight` is updated by what came of them. `off`: factors of the outputs.
struct Model {
  std::string norm = R"({"eps":0.01})", activation = "{}";
  double norm_off = 1, activation_off = 1, beside_off = 1, copy_off = 0;
};

TraceBuilder build(const Model& run) {
  TraceBuilder builder(2);
  const auto shape = std::vector<int64_t>{2, 4, 8};
  const auto values = [](uint64_t seed, double factor) {
    return times(normal_values(64, seed), factor);
  };
  for (int step = 0; step < 2; ++step) {
    if (step > 0) builder.begin_step(step);
    for (const int rank : {0, 1}) {
      const double moved = run.activation_off;
      const auto weight = builder.add({.rank = rank, .site = "fc.weight", .role = "param"},
                                      values(9, step == 0 ? 1 : moved), copies(shape));
      const auto input = builder.add({.rank = rank, .site = "input"}, values(1, 1), copies(shape));
      builder.add({.rank = rank,
                   .site = "norm",
                   .links = {input},
                   .op = "rms_norm",
                   .attributes = run.norm},
                  values(2, run.norm_off), copies(shape));
      const auto act = builder.add({.rank = rank,
                                    .site = "act",
                                    .links = {input},
                                    .op = "gelu",
                                    .attributes = run.activation},
                                   values(3, run.activation_off), copies(shape));
      const auto fc = builder.add({.rank = rank, .site = "fc", .links = {act, weight}, .op = "own"},
                                  values(4, step == 0 ? moved : moved * moved), copies(shape));
      builder.add({.rank = rank, .site = "beside", .links = {input}, .op = "own"},
                  values(5, run.beside_off), copies(shape));
      Values tail = values(6, moved);
      if (rank == 1) tail[0] += static_cast<float>(run.copy_off);
      builder.add({.rank = rank, .site = "tail", .links = {fc}, .op = "own"}, tail, copies(shape));
      builder.add({.rank = rank,
                   .site = "fc.weight",
                   .phase = Phase::kUpdate,
                   .role = "param",
                   .links = {fc}},
                  values(9, moved), copies(shape));
    }
  }
  return builder;
}

Verdict verdict_of(const Model& run, const std::vector<std::string>& intended = {}) {
  const TraceBuilder mine = build(run), other = build({});
  const auto candidate = mine.source("candidate"), trusted = other.source("reference");
  const auto envelope = envelope_around(trusted, kHealthy);
  JudgeOptions options;
  options.envelope = &envelope;
  options.intended = intended;
  return judge_sources(candidate, &trusted, thresholds(), options);
}

const Model kTanh{.activation = R"({"tanh":true})", .activation_off = 1.2};

std::vector<std::string> sites_of(const Verdict& verdict) {
  std::vector<std::string> sites;
  for (const Origin& origin : verdict.origins) sites.push_back(origin.finding.what.site);
  return sites;
}

TEST(SemanticChanges, EqualConfigurationsPredictNothing) {
  const Verdict verdict = verdict_of({});
  EXPECT_THAT(verdict.semantic_changes, IsEmpty());
  EXPECT_EQ(verdict.kind, VerdictKind::kClean) << to_text(verdict);
}

TEST(SemanticChanges, AreToldWithValuesAndSites) {
  const Verdict verdict = verdict_of(kTanh);
  ASSERT_THAT(verdict.semantic_changes, SizeIs(1));
  const SemanticChange& change = verdict.semantic_changes.front();
  EXPECT_EQ(change.key, "gelu.tanh");
  EXPECT_EQ(change.candidate, "true");
  EXPECT_EQ(change.reference, "false");
  EXPECT_THAT(change.sites, ElementsAre("act"));
  // Not intended: a finding, with its reason.
  ASSERT_THAT(sites_of(verdict), ElementsAre("act")) << to_text(verdict);
  EXPECT_EQ(verdict.origins.front().predicted, "gelu.tanh");
}

TEST(SemanticChanges, ADeviationElsewhereIsNotPredicted) {
  Model run = kTanh;
  run.activation_off = 1;
  run.beside_off = 1.2;
  const Verdict verdict = verdict_of(run);
  ASSERT_THAT(sites_of(verdict), ElementsAre("beside"));
  EXPECT_EQ(verdict.origins.front().predicted, "");
}

TEST(IntendedChanges, TakeOutWhatFollowsFromThemInAllSteps) {
  const Verdict verdict = verdict_of(kTanh, {"gelu.tanh"});
  EXPECT_EQ(verdict.kind, VerdictKind::kClean) << to_text(verdict);
  EXPECT_TRUE(verdict.semantic_changes.front().intended);
  EXPECT_THAT(verdict.coverage.unjudged,
              testing::Contains(testing::HasSubstr("follow from intended changes")));
}

TEST(IntendedChanges, OfAnotherKeyExcuseNothing) {
  EXPECT_THAT(sites_of(verdict_of(kTanh, {"rms_norm.eps"})), ElementsAre("act"));
}

TEST(IntendedChanges, ExcuseNoOtherSite) {
  Model run = kTanh;
  run.beside_off = 1.2;
  EXPECT_THAT(sites_of(verdict_of(run, {"gelu.tanh"})), ElementsAre("beside"));
}

// Copies that differ need no reference: made of what is intended or not, they are wrong.
TEST(IntendedChanges, ExcuseNoExactRule) {
  Model run = kTanh;
  run.copy_off = 1;
  const Verdict verdict = verdict_of(run, {"gelu.tanh"});
  ASSERT_THAT(sites_of(verdict), ElementsAre("tail")) << to_text(verdict);
  EXPECT_EQ(verdict.origins.front().finding.rule, "replicas_equal");
}

TEST(SemanticChanges, WhatOneProgramDoesNotWriteDownIsNoDifference) {
  Model run;
  run.norm = "{}";
  EXPECT_THAT(verdict_of(run).semantic_changes, IsEmpty());
  run.norm = R"({"eps":0.1})";
  EXPECT_THAT(verdict_of(run).semantic_changes, SizeIs(1));
}

}  // namespace
}  // namespace nanhunt::compare::test
