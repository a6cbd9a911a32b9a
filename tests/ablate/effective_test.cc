// SPDX-License-Identifier: Apache-2.0
#include "ablate/effective.h"

#include <gtest/gtest.h>

#include "tests/ablate/test_subject.h"
#include "tests/support/scratch_folder.h"
#include "trace/error.h"
#include "trace/segment.h"

namespace nanhunt::ablate {
namespace {

trace::Record record(const std::string& site, const std::string& role, trace::DType dtype) {
  trace::Record made;
  made.what.site = site;
  made.what.role = role;
  made.storage = dtype;
  made.op = "linear";
  trace::Placement placement = trace::whole({"sample", "token", "channel"}, {2, 3, 4});
  placement.to_logical = {1, 0, 2};
  placement.mesh = {{trace::MeshAxis::kTp, trace::PlacementKind::kShard}};
  made.placement = std::make_shared<trace::Placement>(placement);
  return made;
}

class Effective : public ::testing::Test {
 protected:
  Effective() {
    step_.records = {record("layers.0.fc1", "output", trace::DType::kBFloat16),
                     record("layers.1.fc1", "output", trace::DType::kFloat32),
                     record("layers.1.fc1", "grad", trace::DType::kFloat32)};
    step_.records[1].where.microbatch = 1;
    step_.records[2].what.phase = trace::Phase::kBackward;
    trace::Collective reduction;
    reduction.op = "all_reduce";
    reduction.order = "ring";
    reduction.group = {0, 1};
    trace::Collective gather;
    gather.op = "all_gather";
    gather.order = "none of ours";
    step_.collectives = {reduction, gather};
    trace::RunFacts rank;
    rank.mesh_size[static_cast<size_t>(trace::MeshAxis::kTp)] = 2;
    rank.facts["launch"] = "threads";
    facts_ = {rank, rank};
  }
  std::string eval(const std::string& expression) { return evaluate(expression, step_, facts_); }

  trace::Step step_;
  std::vector<trace::RunFacts> facts_;
};

TEST_F(Effective, ReadsOps) {
  EXPECT_EQ(eval("op linear"), "yes");
  EXPECT_EQ(eval("op fused_linear"), "no");
}

TEST_F(Effective, ReadsTheMesh) {
  EXPECT_EQ(eval("mesh tp"), "2");
  EXPECT_EQ(eval("mesh dp"), "1");
  EXPECT_EQ(eval("mesh mb"), "2");  // microbatches seen, whatever was configured
}

TEST_F(Effective, ReadsTypes) {
  EXPECT_EQ(eval("dtype layers.0.fc1:output"), "bf16");
  EXPECT_EQ(eval("dtype layers.*.fc1:output"), "bf16,fp32");
  EXPECT_EQ(eval("dtype layers.*.fc1:grad@backward"), "fp32");
  EXPECT_EQ(eval("dtype layers.*.fc1:grad@forward"), "none");
}

TEST_F(Effective, ReadsPlacementsAndAxes) {
  EXPECT_EQ(eval("placement layers.0.fc1:output tp shard"), "yes");
  EXPECT_EQ(eval("placement layers.0.fc1:output tp partial"), "no");
  EXPECT_EQ(eval("placement layers.0.fc1:output dp shard"), "no");
  EXPECT_EQ(eval("axes layers.0.fc1:output"), "token-sample-channel");
}

TEST_F(Effective, ReadsCollectivesAndFacts) {
  EXPECT_EQ(eval("collective order"), "ring");  // of reductions alone
  EXPECT_EQ(eval("collective ranks"), "2");
  EXPECT_EQ(eval("collective async"), "no");
  step_.collectives[0].async = true;
  EXPECT_EQ(eval("collective async"), "yes");
  EXPECT_EQ(eval("fact launch"), "threads");
  EXPECT_EQ(eval("fact nothing"), "none");
}

TEST_F(Effective, RefusesWhatItDoesNotKnow) {
  EXPECT_THROW(eval("dtyp layers.0.fc1:output"), trace::Error);
  EXPECT_THROW(eval("mesh xp"), trace::Error);
  EXPECT_THROW(eval("placement layers.0.fc1:output tp"), trace::Error);
  EXPECT_THROW(eval("dtype layers.0.fc1"), trace::Error);
}

TEST(EffectiveValue, MapsResultsToValues) {
  const Subject subject = test_subject();
  EXPECT_EQ(value_of(*subject.find_toggle("parallel.tp"), "4"), "4");
  EXPECT_EQ(value_of(*subject.find_toggle("parallel.tp"), "3"), std::nullopt);
  EXPECT_EQ(value_of(*subject.find_toggle("layout.sp"), "yes"), "on");
  EXPECT_EQ(value_of(*subject.find_toggle("layout.sp"), "no"), "off");
  EXPECT_EQ(value_of(*subject.find_toggle("precision.fp8"), "bf16"), "off");
  EXPECT_EQ(value_of(*subject.find_toggle("precision.fp8"), "fp8_e4m3"), "on");
  EXPECT_EQ(value_of(*subject.find_toggle("precision.fp8"), "yes"), std::nullopt);
}

// A run that left the trace of one rank, with tp as the mesh says.
ablate::Run run_with_trace(const std::filesystem::path& folder, int32_t tp, trace::CutReason cut) {
  ablate::Run run;
  run.trace = folder;
  run.outcome.end = ChildEnd::kExited;
  trace::Segment segment;
  segment.facts.world_size = 1;
  segment.facts.mesh_size[static_cast<size_t>(trace::MeshAxis::kTp)] = tp;
  segment.cut = cut;
  trace::write_segment(run.trace, segment);
  return run;
}

TEST(EffectiveOfARun, IsAskedOfAWholeTraceAlone) {
  const Subject subject = test_subject();
  const auto differences = [&](const ablate::Run& run, const std::string& tp) {
    Settings asked = default_settings(subject);
    asked["parallel.tp"] = tp;
    size_t count = 0;
    for (const NoEffect& each : check_effective(subject, asked, run)) {
      count += each.toggle == "parallel.tp";
    }
    return count;
  };
  const ScratchFolder folder;
  ablate::Run run = run_with_trace(folder / "whole", 2, trace::CutReason::kStepEnd);
  EXPECT_EQ(differences(run, "2"), 0u);
  EXPECT_EQ(differences(run, "4"), 1u);
  run.outcome.status = 3;  // ended badly: what tells may be missing
  EXPECT_EQ(differences(run, "4"), 0u);
  const ablate::Run cut = run_with_trace(folder / "cut", 2, trace::CutReason::kSignal);
  EXPECT_EQ(differences(cut, "4"), 0u);
  std::filesystem::remove_all(cut.trace);
  EXPECT_EQ(differences(cut, "4"), 0u);  // no trace at all
}

}  // namespace
}  // namespace nanhunt::ablate
