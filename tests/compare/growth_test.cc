// SPDX-License-Identifier: Apache-2.0
// What an op makes of the error of its input: noise that is common to a run hides a site that
// amplifies, the ratio of the two errors shows it.
#include <gtest/gtest.h>

#include "compare/judge.h"
#include "compare/judge_sources.h"
#include "tests/compare/small_model.h"
#include "tests/compare/trace_builder.h"
#include "tests/support/scratch_folder.h"

namespace nanhunt::compare::test {
namespace {

constexpr size_t kElements = 512;
constexpr double kRuns[] = {3e-4, 6e-4, 1e-3, 1.6e-3, 2.4e-3, 3e-3};

// Two tensors, the second made from the first; each off by so much.
class Growth : public testing::Test {
 protected:
  Verdict judged(double before, double after, bool stats = false) {
    std::vector<trace::TraceReader> runs;
    for (uint64_t k = 0; k < 24; ++k) {
      const double amplitude = kRuns[k % std::size(kRuns)];
      runs.push_back(write("run" + std::to_string(k), amplitude, amplitude, 30 + k, stats));
    }
    std::vector<const trace::TraceReader*> pointers;
    for (const auto& run : runs) pointers.push_back(&run);
    const auto reference = write("reference", 0, 0, 1, stats);
    const auto envelope = oracle::build_envelope(reference, pointers, "k");
    const auto candidate = write("candidate", before, after, 2, stats);
    JudgeOptions options;
    options.envelope = &envelope;
    return compare_traces(candidate, reference, thresholds(), options);
  }

 private:
  trace::TraceReader write(const std::string& name, double before, double after, uint64_t seed,
                           bool stats) {
    TraceBuilder builder;
    const auto add = [&](const char* site, double off, uint64_t draw, std::vector<int64_t> links) {
      const Values values = plus(normal_values(kElements, draw),
                                 normal_values(kElements, draw + 2 * seed + 100, off));
      return builder.add({.site = site, .links = std::move(links)}, values,
                         copies({static_cast<int64_t>(kElements)}));
    };
    add("after", after, 9, {add("before", before, 8, {})});
    builder.write(folder_.path() / name, !stats);
    return trace::TraceReader(folder_.path() / name);
  }

  ScratchFolder folder_;
};

const char* const kUnit = "error out over error in";

// As large as the largest healthy errors or larger, and the op hands on what it got.
TEST_F(Growth, AnErrorThatIsHandedOnIsNot) {
  const Verdict verdict = judged(6e-3, 6e-3);
  EXPECT_EQ(verdict.kind, VerdictKind::kClean) << to_text(verdict);
}

TEST_F(Growth, AnErrorThatAppearsInBetweenIs) {
  const Verdict verdict = judged(1e-3, 6e-3);
  ASSERT_EQ(verdict.origins.size(), 1u) << to_text(verdict);
  const auto& finding = verdict.origins.front().finding;
  EXPECT_EQ(finding.what.site, "after");
  EXPECT_EQ(finding.severity, oracle::Severity::kSuspicious);
  EXPECT_EQ(finding.unit, kUnit);
}

TEST_F(Growth, SketchesTellItToo) {
  EXPECT_EQ(judged(6e-3, 6e-3, true).kind, VerdictKind::kClean);
  EXPECT_EQ(judged(1e-3, 8e-3, true).kind, VerdictKind::kDivergence);
}

// Nearer to the reference than any run was: a large ratio of two small numbers.
TEST_F(Growth, OfASmallErrorIsNoFinding) {
  EXPECT_EQ(judged(1e-6, 1e-3).kind, VerdictKind::kClean);
  EXPECT_EQ(judged(0, 1e-3).kind, VerdictKind::kClean);
}

// fc1 lies between its bounds, fc2 behind it is out. Of what fc2 has, how much is fresh depends on
// what it makes of a healthy error.
std::string leading_site(double healthy_growth) {
  const TraceBuilder other = build({});
  const auto trusted = other.source("reference");
  auto envelope = envelope_around(trusted, 4e-7);
  const auto bounds = envelope.bounds({0, "fc1", trace::Phase::kForward, "output", 0},
                                      oracle::Metric::kNorm, 10, thresholds());
  const double between = (bounds->lo + bounds->hi) / 2, beyond = 1.5 * bounds->hi;
  envelope.pools[{"fc2", trace::Phase::kForward, "output", 0, oracle::Metric::kGrowth}] = {
      64, healthy_growth * healthy_growth, 0.02, 63, 1.3 * healthy_growth};
  SmallModel model{.tp = 2};
  model.edit = [=](const Tap& tap, Values& values) {
    const double off = tap.site == "fc1" && tap.phase == trace::Phase::kForward   ? between
                       : tap.site == "fc2" && tap.phase == trace::Phase::kForward ? beyond
                                                                                  : 0;
    if (tap.role == "output" && off > 0) values = times(values, 1 + off);
  };
  JudgeOptions options;
  options.envelope = &envelope;
  const TraceBuilder mine = build(model);
  const auto candidate = mine.source("candidate");
  const Verdict verdict = judge_sources(candidate, &trusted, thresholds(), options);
  for (const Origin& origin : verdict.origins) {
    if (origin.inputs == Inputs::kInterval) return origin.finding.what.site;
  }
  return to_text(verdict);
}

TEST(GrowthInAnInterval, WhatAnOpAmplifiesByNatureIsNotFresh) {
  EXPECT_EQ(leading_site(1), "fc2");
  EXPECT_EQ(leading_site(4), "fc1");
}

}  // namespace
}  // namespace nanhunt::compare::test
