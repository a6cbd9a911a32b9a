// SPDX-License-Identifier: Apache-2.0
#include "ablate/effective.h"

#include <gtest/gtest.h>

#include "tests/ablate/test_subject.h"
#include "trace/error.h"

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

}  // namespace
}  // namespace nanhunt::ablate
