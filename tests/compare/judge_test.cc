// SPDX-License-Identifier: Apache-2.0
// Whole judgements of small traces: scan, and comparison with a reference of one rank.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "compare/judge_sources.h"
#include "tests/compare/small_model.h"

namespace nanhunt::compare::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using trace::Phase;

constexpr double kHealthy = 1e-3;

bool at(const Tap& tap, const std::string& site, Phase phase = Phase::kForward,
        const std::string& role = "output") {
  return tap.site == site && tap.phase == phase && tap.role == role;
}

Verdict scan_of(const SmallModel& model) {
  const TraceBuilder builder = build(model);
  return judge_sources(builder.source(), nullptr, thresholds(), {});
}

// With an envelope around the reference.
Verdict judged(const TraceBuilder& mine, const TraceBuilder& reference) {
  const auto candidate = mine.source("candidate"), trusted = reference.source("reference");
  const auto envelope = envelope_around(trusted, kHealthy);
  JudgeOptions options;
  options.envelope = &envelope;
  return judge_sources(candidate, &trusted, thresholds(), options);
}

Verdict against_reference(SmallModel model, const SmallModel& reference = {}) {
  model.noise = kHealthy;
  return judged(build(model), build(reference));
}

TEST(Scan, AHealthyTraceIsClean) {
  const Verdict verdict = scan_of({.tp = 2});
  EXPECT_EQ(verdict.kind, VerdictKind::kClean) << to_text(verdict);
  EXPECT_EQ(exit_status(verdict), 0);
  EXPECT_EQ(verdict.coverage.collectives_matched, 2);
  EXPECT_EQ(verdict.coverage.ranks_present, 2);
}

TEST(Scan, NanOfOneRankOriginatesWhereItIsBorn) {
  SmallModel model{.tp = 2};
  model.edit = [](const Tap& tap, Values& values) {
    if (at(tap, "fc1") && tap.rank == 1) values[3] = NAN;
    // All ranks hold it after the reduction.
    if ((tap.site == "fc2" && tap.role == "output") &&
        (tap.phase != Phase::kPreCollective || tap.rank == 1)) {
      values[5] = NAN;
    }
    if (at(tap, "stream")) values[5] = NAN;
  };
  const Verdict verdict = scan_of(model);
  ASSERT_EQ(verdict.kind, VerdictKind::kNonFinite) << to_text(verdict);
  ASSERT_THAT(verdict.origins, SizeIs(1)) << to_text(verdict);
  const Origin& origin = verdict.origins.front();
  EXPECT_EQ(origin.finding.what.site, "fc1");
  EXPECT_THAT(origin.finding.ranks, ElementsAre(1));
  EXPECT_EQ(origin.inputs, Inputs::kWithin);
  EXPECT_EQ(origin.signature, "one_rank");
  EXPECT_THAT(origin.hosts, ElementsAre("rank 1: node0 cpu1"));
  EXPECT_THAT(origin.hypothesis, HasSubstr("rank 1 alone"));
  EXPECT_GE(origin.passed_on, 3);
  EXPECT_EQ(exit_status(verdict), 1);
}

TEST(Scan, WithoutLinksANanIsFirstSeen) {
  SmallModel model{.tp = 1};
  model.links = false;
  model.edit = [](const Tap& tap, Values& values) {
    if (at(tap, "fc1")) values[3] = NAN;
  };
  const Verdict verdict = scan_of(model);
  ASSERT_THAT(verdict.origins, SizeIs(1));
  EXPECT_EQ(verdict.origins.front().inputs, Inputs::kFirstSeen);
}

TEST(Scan, TwoIndependentFaultsAreTwoOriginsInOrder) {
  SmallModel model{.tp = 1};
  model.edit = [](const Tap& tap, Values& values) {
    if (at(tap, "tail", Phase::kClipped, "grad")) values[0] = NAN;
    if (at(tap, "norm")) values[0] = NAN;
  };
  model.links = true;
  const Verdict verdict = scan_of(model);
  ASSERT_THAT(verdict.origins, SizeIs(2)) << to_text(verdict);
  EXPECT_EQ(verdict.origins[0].finding.what.site, "norm");
  EXPECT_EQ(verdict.origins[1].finding.what.site, "tail");
}

TEST(Scan, ReplicasThatDifferNameTheGroup) {
  SmallModel model{.tp = 2};
  model.edit = [](const Tap& tap, Values& values) {
    if (at(tap, "norm.weight", Phase::kUnscaled, "grad") && tap.rank == 1) values[0] += 1;
    if (at(tap, "tail", Phase::kClipped, "grad") && tap.rank == 1) values[0] += 1;
  };
  const Verdict verdict = scan_of(model);
  ASSERT_THAT(verdict.origins, SizeIs(1)) << to_text(verdict);
  const auto& finding = verdict.origins.front().finding;
  EXPECT_EQ(finding.rule, "replicas_equal");
  EXPECT_EQ(finding.what.site, "norm.weight");
  EXPECT_FALSE(finding.which_known());
  EXPECT_EQ(finding.group, "tp");
  EXPECT_EQ(verdict.origins.front().passed_on, 1);
  EXPECT_EQ(verdict.origins.front().inputs, Inputs::kWithin);
}

TEST(Scan, ARankThatEndsEarlyIsIncompleteNotClean) {
  TraceBuilder builder = build({.tp = 2});
  builder.end_rank_early(1);
  const Verdict verdict = judge_sources(builder.source(), nullptr, thresholds(), {});
  EXPECT_EQ(verdict.kind, VerdictKind::kIncomplete);
  EXPECT_EQ(exit_status(verdict), 3);
  EXPECT_THAT(verdict.coverage.incomplete, Contains(HasSubstr("rank 1 ends at sequence")));
}

TEST(Scan, TheRankThatDiedFirstIsTheReason) {
  const auto reason = [](trace::CutReason of_first, const std::string& why) {
    TraceBuilder builder = build({.tp = 2});
    builder.end_rank_early(0, of_first, why);
    builder.end_rank_early(1, trace::CutReason::kException, "ValueError: shapes");
    builder.add({.rank = 0, .site = "later"}, normal_values(8, 1), copies({8}));
    return judge_sources(builder.source(), nullptr, thresholds(), {}).reason;
  };
  EXPECT_THAT(reason(trace::CutReason::kClose, ""), HasSubstr("rank 1 ends"));
  EXPECT_THAT(reason(trace::CutReason::kSignal, "SIGTERM"), HasSubstr("rank 1 ends"));
  // Connections close when the other end has died: what happened to it is further behind.
  EXPECT_THAT(reason(trace::CutReason::kException, "RuntimeError: Connection closed"),
              HasSubstr("rank 1 ends"));
  // Must fail: rank 0 dies by itself, and before rank 1.
  TraceBuilder builder = build({.tp = 2});
  builder.end_rank_early(0, trace::CutReason::kSignal, "SIGSEGV");
  builder.end_rank_early(1, trace::CutReason::kException, "ValueError: shapes");
  builder.add({.rank = 1, .site = "later"}, normal_values(8, 1), copies({8}));
  EXPECT_THAT(judge_sources(builder.source(), nullptr, thresholds(), {}).reason,
              HasSubstr("rank 0 ends"));
}

TEST(Scan, AFindingOutweighsAnEarlyEnd) {
  SmallModel model{.tp = 2};
  model.edit = [](const Tap& tap, Values& values) {
    if (at(tap, "fc1") && tap.rank == 1) values[3] = INFINITY;
  };
  TraceBuilder builder = build(model);
  builder.end_rank_early(1);
  EXPECT_EQ(judge_sources(builder.source(), nullptr, thresholds(), {}).kind,
            VerdictKind::kNonFinite);
}

TEST(Compare, AHealthyLayoutIsClean) {
  const Verdict verdict = against_reference({.tp = 2, .steps = 2}, {.steps = 2});
  EXPECT_EQ(verdict.kind, VerdictKind::kClean) << to_text(verdict);
  EXPECT_TRUE(verdict.controls_passed);
  EXPECT_GT(verdict.coverage.records_compared, 10);
  EXPECT_THAT(verdict.coverage.missing, IsEmpty());
  EXPECT_THAT(verdict.differences, Contains(testing::Field(&ConfigDifference::key, "mesh tp")));
}

TEST(Compare, ADeviationOriginatesWhereInputsAreWithin) {
  SmallModel model{.tp = 2, .steps = 2};
  model.edit = [](const Tap& tap, Values& values) {
    if (at(tap, "fc1") || at(tap, "fc2") || at(tap, "stream")) values = times(values, 1.5);
  };
  const Verdict verdict = against_reference(model, {.steps = 2});
  ASSERT_EQ(verdict.kind, VerdictKind::kDivergence) << to_text(verdict);
  ASSERT_THAT(verdict.origins, SizeIs(1)) << to_text(verdict);
  const Origin& origin = verdict.origins.front();
  EXPECT_EQ(origin.finding.what.site, "fc1");
  EXPECT_EQ(origin.finding.what.step, 0);
  EXPECT_EQ(origin.finding.rule, "reference_envelope");
  EXPECT_EQ(origin.blame, Blame::kUndecided);
  EXPECT_EQ(origin.inputs, Inputs::kWithin);
  EXPECT_EQ(origin.signature, "constant_ratio");
  EXPECT_THAT(origin.signature_detail, HasSubstr("ratio 1.5"));
  EXPECT_GE(origin.passed_on, 3) << "the stream, and the second step";
}

// Masks of two ranks that should be copies; the first is the reference's.
oracle::Finding finding_of_masks(const Values& second) {
  TraceBuilder candidate = build({.tp = 2}), reference = build({.tp = 1});
  const Values right{1, 0, 1, 1};
  const auto mask = [&](TraceBuilder& run, int rank, const Values& values) {
    run.add({.rank = rank, .site = "drop", .role = "mask", .storage = trace::DType::kBool}, values,
            copies({1, 1, 4}));
  };
  mask(candidate, 0, right);
  mask(candidate, 1, second);
  mask(reference, 0, right);
  const auto mine = candidate.source("candidate"), trusted = reference.source("reference");
  const Verdict verdict = judge_sources(mine, &trusted, thresholds(), {});
  return verdict.origins.empty() ? oracle::Finding{} : verdict.origins.front().finding;
}

TEST(Compare, TheReferenceTellsWhichMaskIsWrong) {
  EXPECT_THAT(finding_of_masks({1, 0, 1, 1}).ranks, IsEmpty());
  const oracle::Finding finding = finding_of_masks({1, 1, 0, 1});
  EXPECT_EQ(finding.rule, "replicas_equal");
  EXPECT_THAT(finding.ranks, ElementsAre(1));
  EXPECT_EQ(finding.decider, oracle::Decider::kReference);
}

TEST(Compare, TheReferenceTellsWhichInitialCopyIsWrong) {
  SmallModel model{.tp = 2};
  model.edit = [](const Tap& tap, Values& values) {
    if (at(tap, "norm.weight", Phase::kForward, "param") && tap.rank == 1) values[0] += 1;
  };
  const Verdict verdict = against_reference(model);
  ASSERT_FALSE(verdict.origins.empty());
  const oracle::Finding& finding = verdict.origins.front().finding;
  EXPECT_EQ(finding.rule, "replicas_equal") << to_text(verdict);
  EXPECT_THAT(finding.ranks, ElementsAre(1));
}

TEST(Compare, TheReferenceTellsWhichCopyIsWrong) {
  SmallModel model{.tp = 2};
  model.edit = [](const Tap& tap, Values& values) {
    if (at(tap, "norm") && tap.rank == 1) values = times(values, 1.5);
  };
  const Verdict verdict = against_reference(model);
  ASSERT_FALSE(verdict.origins.empty());
  const Origin& origin = verdict.origins.front();
  EXPECT_EQ(origin.finding.rule, "replicas_equal") << to_text(verdict);
  EXPECT_EQ(origin.finding.decider, oracle::Decider::kReference);
  EXPECT_THAT(origin.finding.ranks, ElementsAre(1));
  EXPECT_EQ(origin.blame, Blame::kCandidate);
}

TEST(Compare, ANanOfTheReferenceBlamesTheReference) {
  SmallModel reference;
  reference.edit = [](const Tap& tap, Values& values) {
    if (at(tap, "fc1") || at(tap, "fc2") || at(tap, "stream")) values[0] = NAN;
  };
  const Verdict verdict = against_reference({.tp = 2}, reference);
  ASSERT_EQ(verdict.kind, VerdictKind::kNonFinite) << to_text(verdict);
  ASSERT_THAT(verdict.origins, SizeIs(1)) << to_text(verdict);
  EXPECT_EQ(verdict.blame(), Blame::kReference);
  EXPECT_EQ(verdict.origins.front().finding.side, oracle::Side::kReference);
  EXPECT_EQ(verdict.origins.front().finding.what.site, "fc1");
}

TEST(Compare, ANanOnBothSidesIsStillAFinding) {
  const auto edit = [](const Tap& tap, Values& values) {
    if (at(tap, "norm")) values[0] = NAN;
  };
  SmallModel model{.tp = 2}, reference;
  model.edit = reference.edit = edit;
  const Verdict verdict = against_reference(model, reference);
  ASSERT_FALSE(verdict.origins.empty());
  EXPECT_EQ(verdict.blame(), Blame::kBoth);
  EXPECT_EQ(verdict.kind, VerdictKind::kNonFinite);
}

TEST(Compare, OtherInitialParametersAreProven) {
  SmallModel model{.tp = 2};
  model.edit = [](const Tap& tap, Values& values) {
    if (at(tap, "norm.weight", Phase::kForward, "param")) values[2] += 1e-3f;
  };
  const Verdict verdict = against_reference(model);
  ASSERT_FALSE(verdict.origins.empty());
  EXPECT_EQ(verdict.origins.front().finding.rule, "initial_state");
  EXPECT_EQ(verdict.origins.front().finding.severity, oracle::Severity::kProven);
}

TEST(Compare, BetweenTheBoundsTheLargestFreshErrorLeads) {
  SmallModel model{.tp = 2};
  const TraceBuilder other = build({});
  const auto trusted = other.source("reference");
  auto envelope = envelope_around(trusted, kHealthy);
  // fc1 lies between its bounds, what follows is out of a tight envelope.
  const auto bounds = envelope.bounds({0, "fc1", Phase::kForward, "output", 0},
                                      oracle::Metric::kNorm, 10, thresholds());
  ASSERT_TRUE(bounds);
  const double between = (bounds->lo + bounds->hi) / 2;
  const double beyond = 1.5 * bounds->hi;
  model.edit = [=](const Tap& tap, Values& values) {
    const double off = at(tap, "fc1") ? between : at(tap, "fc2") ? beyond : 0;
    values = times(values, 1 + off);
  };
  JudgeOptions options;
  options.envelope = &envelope;
  const TraceBuilder mine = build(model);
  const auto candidate = mine.source("candidate");
  const Verdict verdict = judge_sources(candidate, &trusted, thresholds(), options);
  ASSERT_FALSE(verdict.origins.empty()) << to_text(verdict);
  const auto found =
      std::find_if(verdict.origins.begin(), verdict.origins.end(),
                   [](const Origin& origin) { return origin.inputs == Inputs::kInterval; });
  ASSERT_NE(found, verdict.origins.end()) << to_text(verdict);
  EXPECT_THAT(found->candidates, SizeIs(2));
  EXPECT_EQ(found->finding.what.site, "fc2");
}

// before -> middle -> behind; the last is wrong, and the reference may lack the middle one.
Verdict behind_middle(bool reference_has_it) {
  const auto run = [](bool middle, double factor) {
    TraceBuilder builder = build({});
    auto last = builder.add({.site = "before"}, normal_values(8, 1), copies({8}));
    if (middle)
      last = builder.add({.site = "middle", .links = {last}}, normal_values(8, 2), copies({8}));
    builder.add({.site = "behind", .links = {last}}, times(normal_values(8, 3), factor),
                copies({8}));
    return builder;
  };
  return judged(run(true, 1.5), run(reference_has_it, 1));
}

TEST(Compare, WhatNobodyJudgedBeforeAnOriginIsNamed) {
  const Verdict verdict = behind_middle(false);
  ASSERT_THAT(verdict.origins, SizeIs(1)) << to_text(verdict);
  const Origin& origin = verdict.origins.front();
  EXPECT_EQ(origin.finding.what.site, "behind");
  EXPECT_EQ(origin.inputs, Inputs::kWithin);
  EXPECT_THAT(origin.unjudged_between, ElementsAre("step 0 middle forward output"));
  EXPECT_THAT(to_text(verdict), HasSubstr("in what the reference could not judge (tensors: 1)"));

  const Verdict known = behind_middle(true);
  ASSERT_THAT(known.origins, SizeIs(1)) << to_text(known);
  EXPECT_THAT(known.origins.front().unjudged_between, IsEmpty());
  EXPECT_THAT(to_text(known), HasSubstr("inputs within: the failure originated here\n"));
}

// "one" and "two" are wrong, "healthy" between them or beside them is not.
Verdict two_wrong(bool second_comes_from_first) {
  const auto run = [&](double factor) {
    TraceBuilder builder = build({});
    const auto before = builder.add({.site = "before"}, normal_values(8, 1), copies({8}));
    const auto one = builder.add({.site = "one", .links = {before}},
                                 times(normal_values(8, 2), factor), copies({8}));
    const auto healthy =
        builder.add({.site = "healthy", .links = {second_comes_from_first ? one : before}},
                    normal_values(8, 3), copies({8}));
    builder.add({.site = "two", .links = {healthy}}, times(normal_values(8, 4), factor),
                copies({8}));
    return builder;
  };
  return judged(run(1.5), run(1));
}

TEST(Compare, AnOriginDownstreamOfAnotherSaysSo) {
  const Verdict verdict = two_wrong(true);
  ASSERT_THAT(verdict.origins, SizeIs(2)) << to_text(verdict);
  EXPECT_EQ(verdict.origins[0].downstream_of, "");
  EXPECT_EQ(verdict.origins[1].finding.what.site, "two");
  EXPECT_EQ(verdict.origins[1].downstream_of, "step 0 one forward output");
  EXPECT_THAT(to_text(verdict), HasSubstr("downstream of step 0 one forward output"));

  const Verdict apart = two_wrong(false);
  ASSERT_THAT(apart.origins, SizeIs(2)) << to_text(apart);
  EXPECT_EQ(apart.origins[1].finding.what.site, "two");
  EXPECT_EQ(apart.origins[1].downstream_of, "");
}

TEST(Compare, WhatIsBadBehindAnUndecidedInputExplainsMore) {
  const TraceBuilder other = build({});
  const auto trusted = other.source("reference");
  const auto envelope = envelope_around(trusted, kHealthy);
  const auto bounds = envelope.bounds({0, "fc1", Phase::kForward, "output", 0},
                                      oracle::Metric::kNorm, 10, thresholds());
  ASSERT_TRUE(bounds);
  const double between = (bounds->lo + bounds->hi) / 2;
  SmallModel model{.tp = 2};
  model.edit = [=](const Tap& tap, Values& values) {
    if (at(tap, "norm") || at(tap, "fc2") || at(tap, "stream")) values = times(values, 1.5);
    if (at(tap, "fc1")) values = times(values, 1 + between);
  };
  JudgeOptions options;
  options.envelope = &envelope;
  const TraceBuilder mine = build(model);
  const auto candidate = mine.source("candidate");
  const Verdict verdict = judge_sources(candidate, &trusted, thresholds(), options);
  ASSERT_THAT(verdict.origins, SizeIs(1)) << to_text(verdict);
  EXPECT_EQ(verdict.origins.front().finding.what.site, "norm");
}

TEST(Compare, AResultWrongOnAllRanksIsOneOriginOnAllOfThem) {
  SmallModel model{.tp = 2};
  model.edit = [](const Tap& tap, Values& values) {
    if (at(tap, "fc2", Phase::kPostCollective)) values = times(values, 0.5);
  };
  const Verdict verdict = against_reference(model);
  ASSERT_FALSE(verdict.origins.empty());
  EXPECT_EQ(verdict.origins.front().finding.rule, "collective_residual") << to_text(verdict);
  EXPECT_THAT(verdict.origins.front().finding.ranks, ElementsAre(0, 1));
  EXPECT_EQ(verdict.origins.front().signature, "after_equals_before");
}

TEST(Compare, WithoutAnEnvelopeDifferencesAreUnresolved) {
  const TraceBuilder mine = build({.tp = 2, .noise = kHealthy}), other = build({});
  const auto candidate = mine.source(), reference = other.source();
  const Verdict verdict = judge_sources(candidate, &reference, thresholds(), {});
  EXPECT_EQ(verdict.kind, VerdictKind::kUnresolved);
  EXPECT_EQ(exit_status(verdict), 125);
  EXPECT_THAT(verdict.reason, HasSubstr("no envelope"));
  const TraceBuilder exact = build({.tp = 2});
  const auto equal = exact.source();
  EXPECT_EQ(judge_sources(equal, &reference, thresholds(), {}).kind, VerdictKind::kClean);
}

TEST(Compare, AWideEnvelopeFailsItsControl) {
  const TraceBuilder mine = build({.tp = 2}), other = build({});
  const auto candidate = mine.source(), reference = other.source();
  const auto envelope = envelope_around(reference, 10);
  JudgeOptions options;
  options.envelope = &envelope;
  const Verdict verdict = judge_sources(candidate, &reference, thresholds(), options);
  EXPECT_FALSE(verdict.controls_passed);
  EXPECT_EQ(verdict.kind, VerdictKind::kUnresolved);
}

TEST(Compare, MissingTensorsAreNamed) {
  TraceBuilder mine = build({.tp = 2, .noise = kHealthy}), other = build({});
  other.add({0, "only.there"}, normal_values(8, 3), copies({8}));
  const auto candidate = mine.source(), reference = other.source();
  const auto envelope = envelope_around(reference, kHealthy);
  JudgeOptions options;
  options.envelope = &envelope;
  const Verdict verdict = judge_sources(candidate, &reference, thresholds(), options);
  EXPECT_THAT(verdict.coverage.missing, ElementsAre("only.there forward output (1)"));
  EXPECT_EQ(verdict.coverage.sites_expected, verdict.coverage.sites_fired + 1);
  EXPECT_THAT(verdict.coverage.extra, IsEmpty());
}

TEST(Compare, WhatCaptureCouldNotSeeIsCoverageAndNoSetting) {
  TraceBuilder mine = build({.tp = 2, .noise = kHealthy}), other = build({});
  for (auto& facts : mine.facts()) facts.facts["coverage.compiled"] = "2 modules are hidden";
  mine.facts()[0].facts["filter.unmatched"] = "";
  mine.facts()[1].facts["filter.unmatched"] = "site never.met";
  other.facts()[0].facts["tap.skipped.mask.input"] = "complex numbers";
  for (auto* side : {&mine, &other}) {
    for (auto& facts : side->facts()) facts.facts["threads"] = std::to_string(side->world_size());
  }
  const auto candidate = mine.source(), reference = other.source();
  const Verdict verdict = judge_sources(candidate, &reference, thresholds(), {});
  EXPECT_THAT(verdict.coverage.not_captured,
              ElementsAre("2 modules are hidden", "filter.unmatched: site never.met (rank 1)",
                          "tap.skipped.mask.input: complex numbers [reference]"));
  EXPECT_THAT(to_text(verdict), HasSubstr("2 modules are hidden"));
  std::vector<std::string> keys;
  for (const auto& difference : verdict.differences) keys.push_back(difference.key);
  EXPECT_THAT(keys, Contains("threads"));
  EXPECT_THAT(keys, Not(Contains("coverage.compiled")));
}

TEST(Compare, AFaultInLaterStepsFoldsUnderTheFirst) {
  SmallModel model{.tp = 2, .steps = 3};
  model.edit = [](const Tap& tap, Values& values) {
    if (at(tap, "fc1")) values[0] = NAN;
  };
  const Verdict verdict = against_reference(model, {.steps = 3});
  ASSERT_THAT(verdict.origins, SizeIs(1)) << to_text(verdict);
  EXPECT_THAT(verdict.origins.front().finding.evidence, HasSubstr("also in steps"));
}

}  // namespace
}  // namespace nanhunt::compare::test
