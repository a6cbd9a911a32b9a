// SPDX-License-Identifier: Apache-2.0
#include "ablate/trial.h"

#include <gtest/gtest.h>

#include "tests/ablate/test_subject.h"
#include "tests/support/scratch_folder.h"
#include "trace/segment.h"

namespace nanhunt::ablate {
namespace {

namespace fs = std::filesystem;

// A trace of `ranks` ranks, each with one record of that site.
void write_trace(const fs::path& folder, int32_t ranks, const std::string& site) {
  for (int32_t rank = 0; rank < ranks; ++rank) {
    trace::Record record;
    record.what.site = site;
    record.what.role = "output";
    record.where.rank = rank;
    record.local_shape = {1};
    record.placement = std::make_shared<trace::Placement>(trace::whole({"channel"}, {1}));
    record.regions.resize(1);
    trace::Segment segment;
    segment.rank = rank;
    segment.facts.rank = rank;
    segment.facts.world_size = ranks;
    segment.records = {record};
    segment.values.resize(1);
    trace::write_segment(folder, segment);
  }
}

compare::Verdict failure_of(std::vector<int32_t> ranks, oracle::Decider decider) {
  compare::Verdict verdict;
  verdict.kind = compare::VerdictKind::kNonFinite;
  verdict.origins.resize(1);
  oracle::Finding& finding = verdict.origins[0].finding;
  finding.ranks = std::move(ranks);
  finding.decider = decider;
  finding.what.site = "fc1";
  finding.what.role = "output";
  return verdict;
}

const oracle::Decider kRecomputed = oracle::Decider::kRecomputation;

TEST(Acquittal, NeedsTheAccusedRank) {
  const ScratchFolder folder;
  write_trace(folder.path(), 2, "fc1");
  const trace::TraceReader trial(folder.path());
  EXPECT_EQ(why_no_acquittal(failure_of({3}, kRecomputed), 4, trial),
            "rank 3 is not there, so it cannot be acquitted");
  EXPECT_EQ(why_no_acquittal(failure_of({1}, kRecomputed), 4, trial), "");
  EXPECT_EQ(why_no_acquittal(failure_of({0, 1, 2, 3}, kRecomputed), 4, trial), "");  // all of them
  EXPECT_EQ(why_no_acquittal(failure_of({2, 3}, oracle::Decider::kNone), 4, trial), "");
}

TEST(Acquittal, ByTakingTheOperationAway) {
  const ScratchFolder folder;
  write_trace(folder.path(), 2, "fc2");
  const trace::TraceReader trial(folder.path());
  EXPECT_EQ(why_no_acquittal(failure_of({3}, kRecomputed), 4, trial), "");
}

TEST(TrialName, IsTheShorterSide) {
  const std::vector<std::string> toggles = {"a", "b", "c"};
  EXPECT_EQ(name_of({"a", "b"}, toggles), "off c");
  EXPECT_EQ(name_of({"c"}, toggles), "on c");
}

// Why sequence parallelism at TP 1 has no effect, where these differ from the reference besides.
std::string idle_without_tp(std::vector<std::string> others, Configuration switched_on) {
  Case the_case;
  the_case.subject = test_subject();
  the_case.failing = the_case.reference = default_settings(the_case.subject);
  the_case.failing["layout.sp"] = "on";
  for (const std::string& other : others)
    the_case.failing[other] = other == "parallel.tp" ? "2" : "on";
  return without_effect(the_case, switched_on, settings_of(the_case, switched_on));
}

TEST(TrialWithoutEffect, AToggleGoesWithTheOneThatIsSwitchedOff) {
  EXPECT_EQ(idle_without_tp({"parallel.tp", "precision.fp8"}, {"layout.sp", "precision.fp8"}), "");
  // With two toggles the trial without one is that with the other alone.
  EXPECT_EQ(idle_without_tp({"parallel.tp"}, {"layout.sp"}), "");
}

TEST(TrialWithoutEffect, AloneItHasNone) {
  const std::string idle = "layout.sp=on has no effect here";
  EXPECT_EQ(idle_without_tp({"parallel.tp", "precision.fp8"}, {"layout.sp"}), idle);
  // Nothing was switched off that would have taken it along.
  EXPECT_EQ(idle_without_tp({"precision.fp8"}, {"layout.sp"}), idle);
}

TEST(TrialSettings, StartFromTheReference) {
  Case the_case;
  the_case.subject = test_subject();
  the_case.failing = the_case.reference = default_settings(the_case.subject);
  the_case.failing["parallel.tp"] = "2";
  the_case.failing["layout.sp"] = "on";
  const Settings settings = settings_of(the_case, {"layout.sp"});
  EXPECT_EQ(settings.at("layout.sp"), "on");
  EXPECT_EQ(settings.at("parallel.tp"), "1");
}

}  // namespace
}  // namespace nanhunt::ablate
