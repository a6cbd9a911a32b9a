// SPDX-License-Identifier: Apache-2.0
// Run against run in the same layout: first bit difference, then the envelope.
#include "compare/same_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "compare/judge_sources.h"
#include "tests/compare/small_model.h"
#include "tests/support/scratch_folder.h"
#include "trace/error.h"

namespace nanhunt::compare::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

JudgeOptions same_layout(const oracle::Envelope* envelope = nullptr) {
  JudgeOptions options;
  options.same_layout = true;
  options.envelope = envelope;
  return options;
}

SmallModel with_lost_bit() {
  SmallModel model{.tp = 2};
  model.edit = [](const Tap& tap, Values& values) {
    const bool downstream = tap.site == "fc2" || tap.site == "stream";
    if (tap.role == "output" && ((tap.site == "fc1" && tap.rank == 1) || downstream)) {
      values[0] = std::nextafter(values[0], 1e9f);
    }
  };
  return model;
}

TEST(SameLayout, EqualRunsAreClean) {
  const TraceBuilder builder = build({.tp = 2});
  const auto a = builder.source("a"), b = builder.source("b");
  const Verdict verdict = judge_sources(a, &b, thresholds(), same_layout());
  EXPECT_EQ(verdict.kind, VerdictKind::kClean) << to_text(verdict);
  EXPECT_EQ(verdict.coverage.records_compared, verdict.coverage.records);
}

TEST(SameLayout, TheFirstBitDifferenceLeads) {
  const TraceBuilder mine = build(with_lost_bit()), other = build({.tp = 2});
  const auto a = mine.source("a"), b = other.source("b");
  const Verdict verdict = judge_sources(a, &b, thresholds(), same_layout());
  ASSERT_EQ(verdict.kind, VerdictKind::kDivergence);
  ASSERT_THAT(verdict.origins, SizeIs(1)) << to_text(verdict);
  EXPECT_EQ(verdict.origins.front().finding.rule, "same_bits");
  EXPECT_EQ(verdict.origins.front().finding.what.site, "fc1");
  EXPECT_THAT(verdict.origins.front().finding.ranks, ElementsAre(1));
  EXPECT_GT(verdict.origins.front().passed_on, 0);
}

// Both have one NaN at one place: a failure, and the same run all the same.
TEST(SameLayout, AFailureOfBothIsNoDifference) {
  SmallModel model{.tp = 2};
  model.edit = [](const Tap& tap, Values& values) {
    if (tap.role == "output" && tap.site == "fc1" && tap.rank == 1) values[0] = NAN;
  };
  const TraceBuilder mine = build(model), other = build(model), healthy = build({.tp = 2});
  const auto a = mine.source("a"), b = other.source("b"), c = healthy.source("c");
  JudgeOptions options = same_layout();
  EXPECT_EQ(judge_sources(a, &b, thresholds(), options).kind, VerdictKind::kNonFinite);
  options.own_rules = false;
  EXPECT_EQ(judge_sources(a, &b, thresholds(), options).kind, VerdictKind::kClean);
  // The twin: a difference is one on whichever side the failure is.
  for (const auto& [candidate, reference] : {std::pair(&a, &c), std::pair(&c, &a)}) {
    const Verdict verdict = judge_sources(*candidate, reference, thresholds(), options);
    ASSERT_FALSE(verdict.origins.empty()) << to_text(verdict);
    EXPECT_EQ(verdict.origins.front().finding.rule, "same_bits");
    EXPECT_EQ(verdict.origins.front().finding.what.site, "fc1");
  }
}

TEST(SameLayout, ValuesTellTheElement) {
  const ScratchFolder mine, other;
  build(with_lost_bit()).write(mine.path());
  build({.tp = 2}).write(other.path());
  const trace::TraceReader a(mine.path()), b(other.path());
  const TraceSource candidate = source_of(a), reference = source_of(b);
  const Verdict verdict = judge_sources(candidate, &reference, thresholds(), same_layout());
  ASSERT_FALSE(verdict.origins.empty());
  EXPECT_THAT(verdict.origins.front().finding.evidence,
              HasSubstr("1 of 128 elements differ, first [0, 0, 0] (element 0): 0.0891"));
  EXPECT_THAT(verdict.origins.front().finding.evidence, Not(HasSubstr("0.08911 against")));
  // The twin: without values there is no element to tell.
  const TraceBuilder builder = build(with_lost_bit()), plain = build({.tp = 2});
  const auto c = builder.source("c"), d = plain.source("d");
  const Verdict untold = judge_sources(c, &d, thresholds(), same_layout());
  EXPECT_THAT(untold.origins.front().finding.evidence, Not(HasSubstr("element")));
}

TEST(SameLayout, AnEnvelopeMakesBitsAnEvent) {
  const TraceBuilder mine = build(with_lost_bit()), other = build({.tp = 2});
  const auto a = mine.source("a"), b = other.source("b");
  const auto envelope = envelope_around(b, 1e-3);
  const Verdict verdict = judge_sources(a, &b, thresholds(), same_layout(&envelope));
  EXPECT_EQ(verdict.kind, VerdictKind::kClean) << to_text(verdict);
  ASSERT_THAT(verdict.events, SizeIs(1));
  EXPECT_THAT(verdict.events.front(), HasSubstr("the first is step 0 fc1 forward output, rank 1"));

  SmallModel far = with_lost_bit();
  far.edit = [](const Tap& tap, Values& values) {
    if (tap.site == "norm" && tap.role == "output") values = times(values, 1.5);
  };
  const TraceBuilder wrong = build(far);
  const auto c = wrong.source("c");
  const Verdict out = judge_sources(c, &b, thresholds(), same_layout(&envelope));
  ASSERT_EQ(out.kind, VerdictKind::kDivergence);
  EXPECT_EQ(out.origins.front().finding.rule, "reference_envelope");
}

TEST(SameLayout, RecordsOfOneSideAloneAreNamed) {
  TraceBuilder mine = build({.tp = 2}), other = build({.tp = 2});
  mine.add({1, "extra"}, normal_values(4, 1), copies({4}));
  other.add({0, "missing"}, normal_values(4, 1), copies({4}));
  const auto a = mine.source("a"), b = other.source("b");
  const Verdict verdict = judge_sources(a, &b, thresholds(), same_layout());
  EXPECT_THAT(verdict.coverage.extra, ElementsAre("extra forward output (1)"));
  EXPECT_THAT(verdict.coverage.missing, ElementsAre("missing forward output (1)"));
}

TEST(SameLayout, OtherWorldSizesAreRefused) {
  const TraceBuilder mine = build({.tp = 2}), other = build({.tp = 1});
  const auto a = mine.source("a"), b = other.source("b");
  EXPECT_THROW(judge_sources(a, &b, thresholds(), same_layout()), trace::Error);
}

}  // namespace
}  // namespace nanhunt::compare::test
