// SPDX-License-Identifier: Apache-2.0
// The verdict as JSON and text, exit statuses, the same failure, and where to look closer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "compare/judge_sources.h"
#include "tests/compare/small_model.h"
#include "tests/support/scratch_folder.h"

namespace nanhunt::compare::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

Verdict nan_verdict(const std::string& site) {
  Verdict verdict;
  verdict.kind = VerdictKind::kNonFinite;
  verdict.candidate = "run/failing";
  Origin origin;
  origin.finding.rule = "non_finite";
  origin.finding.what = {2, site, trace::Phase::kForward, "output", 0};
  origin.finding.ranks = {1};
  origin.finding.decider = oracle::Decider::kItself;
  origin.finding.measured = std::numeric_limits<double>::infinity();
  origin.finding.allowed = NAN;
  origin.finding.unit = "elements";
  origin.hosts = {"rank 1: node0 cpu1"};
  origin.signature = "one_rank";
  origin.blame = Blame::kCandidate;
  verdict.origins = {origin};
  verdict.thresholds_sha256 = std::string(64, 'a');
  verdict.next_command = "nanhunt show run/failing 'x'";
  return verdict;
}

TEST(VerdictJson, HasNoBareNanAndNamesTheFinding) {
  const auto json = to_json(nan_verdict("decoder.layers.3.mlp.linear_fc1"));
  const auto back = nlohmann::json::parse(json.dump());
  EXPECT_EQ(back, json) << "what is printed reads back";
  const auto& finding = back["origins"][0]["finding"];
  EXPECT_EQ(finding["measured"], "Inf");
  EXPECT_EQ(finding["allowed"], "NaN");
  EXPECT_EQ(finding["phase"], "forward");
  EXPECT_EQ(back["verdict"], "non-finite");
  EXPECT_EQ(back["exit_status"], 1);
  EXPECT_EQ(back["blame"], "candidate");
  EXPECT_FALSE(back.contains("cause"));
}

TEST(VerdictText, OpensWithCoverageAndEndsWithTheTicket) {
  Verdict verdict = nan_verdict("decoder.layers.3.mlp.linear_fc1");
  verdict.coverage.incomplete = {"rank 3 ends at sequence 812, no further segments"};
  const std::string text = to_text(verdict);
  EXPECT_THAT(text, StartsWith("Coverage\n"));
  EXPECT_THAT(text, HasSubstr("rank 3 ends at sequence 812"));
  EXPECT_TRUE(text.ends_with(ticket(verdict)));
  EXPECT_THAT(ticket(verdict), HasSubstr("ranks:     rank 1 on rank 1: node0 cpu1"));
  EXPECT_THAT(ticket(verdict), HasSubstr("measured Inf, allowed NaN elements"));
  EXPECT_THAT(ticket(Verdict{}), Not(HasSubstr("site:")));
}

TEST(ExitStatus, FollowsTheKind) {
  Verdict verdict;
  const std::pair<VerdictKind, int> expected[] = {{VerdictKind::kClean, 0},
                                                  {VerdictKind::kNonFinite, 1},
                                                  {VerdictKind::kDivergence, 1},
                                                  {VerdictKind::kIncomplete, 3},
                                                  {VerdictKind::kUnresolved, 125}};
  for (const auto& [kind, status] : expected) {
    verdict.kind = kind;
    EXPECT_EQ(exit_status(verdict), status);
  }
}

TEST(SameFailure, IsOfOneKindAndOneFamilyOfSites) {
  const Verdict a = nan_verdict("decoder.layers.3.mlp.linear_fc1");
  EXPECT_TRUE(same_failure(a, nan_verdict("decoder.layers.5.mlp.linear_fc1")));
  EXPECT_FALSE(same_failure(a, nan_verdict("decoder.layers.3.mlp.linear_fc2")));
  Verdict other = a;
  other.kind = VerdictKind::kDivergence;
  EXPECT_FALSE(same_failure(a, other));
  EXPECT_FALSE(same_failure(Verdict{}, Verdict{})) << "two passes are no failure";
}

TEST(ZoomSites, NamesWhatTheOriginConsumed) {
  SmallModel model{.tp = 2};
  model.edit = [](const Tap& tap, Values& values) {
    if (tap.site == "fc2" && tap.phase == trace::Phase::kForward && tap.role == "output")
      values[0] = NAN;
  };
  const ScratchFolder folder;
  build(model).write(folder.path() / "trace");
  const trace::TraceReader reader(folder.path() / "trace");
  const Verdict verdict = scan(reader, thresholds());
  ASSERT_FALSE(verdict.origins.empty());
  EXPECT_EQ(verdict.origins.front().finding.what.site, "fc2");
  EXPECT_THAT(zoom_sites(reader, verdict), IsEmpty()) << "everything was captured in full";
  EXPECT_THAT(zoom_sites(reader, Verdict{}), IsEmpty());

  build(model).write(folder.path() / "stats", false);
  const trace::TraceReader stats(folder.path() / "stats");
  const auto sites = zoom_sites(stats, scan(stats, thresholds()));
  for (const char* site : {"fc1", "fc2", "fc2.bias"}) EXPECT_THAT(sites, Contains(site));
  EXPECT_THAT(sites, Not(Contains("fc2.weight"))) << "nobody recorded it";
  EXPECT_THAT(sites, Not(Contains("tail")));
}

TEST(ZoomSites, NamesTheMaskOfPositions) {
  TraceBuilder builder;
  auto placement = copies({kSamples, kTokens});
  placement.axes = {"sample", "token"};
  const Values ones(kSamples * kTokens, 1);
  builder.add({0, "data", trace::Phase::kForward, "loss_mask"}, ones, placement);
  builder.add({0, "others", trace::Phase::kForward, "loss_mask"}, ones, copies({16}));
  builder.add({0, "norm"}, {NAN, 1}, copies({2}));
  const ScratchFolder folder;
  builder.write(folder.path(), false);
  const trace::TraceReader reader(folder.path());
  EXPECT_THAT(zoom_sites(reader, scan(reader, thresholds())), testing::ElementsAre("data", "norm"));
}

TEST(ZoomPhases, EndWithTheOrigin) {
  SmallModel model{.tp = 2};
  const ScratchFolder folder;
  build(model).write(folder.path() / "trace", false);
  const trace::TraceReader reader(folder.path() / "trace");
  Verdict verdict = nan_verdict("fc2");
  oracle::Finding& finding = verdict.origins.front().finding;
  finding.what.step = reader.steps().front();
  const auto phases = [&](trace::Phase phase) {
    finding.what.phase = phase;
    return zoom_phases(reader, verdict);
  };
  EXPECT_THAT(phases(trace::Phase::kForward),
              ElementsAre("forward", "pre_collective", "post_collective"));
  EXPECT_THAT(phases(trace::Phase::kPreCollective),
              ElementsAre("forward", "loss", "backward", "pre_collective", "post_collective"));
  EXPECT_THAT(phases(trace::Phase::kUpdate), Contains("clipped"));
  // The update of the step before may be what was wrong.
  finding.what.step = reader.steps().front() + 1;
  EXPECT_THAT(phases(trace::Phase::kForward), Contains("update"));
  EXPECT_THAT(zoom_phases(reader, Verdict{}), IsEmpty());
}

}  // namespace
}  // namespace nanhunt::compare::test
