// SPDX-License-Identifier: Apache-2.0
// What goes into the recorder comes back out of the trace.
#include "hooks/recorder.h"

#include <gmock/gmock.h>

#include <limits>
#include <thread>

#include "tests/hooks/recorder_fixture.h"

namespace nanhunt::hooks {
namespace {

using testing::ElementsAre;

const std::vector<float> kValues{1.0F, -2.0F, 0.5F};

TEST(Recorder, RowsComeBackInProgramOrder) {
  TraceFolder folder;
  {
    Recorder recorder(plan_into(folder));
    RankRecorder& rank = recorder.add_rank(facts_of_rank(0));
    rank.begin_step(7);
    EXPECT_EQ(rank.record(observe("a", kValues)), 0);
    Observation second = observe("b", kValues, trace::Phase::kBackward);
    second.links = {{0, trace::LinkGrade::kDeclared}};
    second.op = "linear";
    EXPECT_EQ(rank.record(second), 1);
    rank.end_step();
    rank.begin_step(8);
    EXPECT_EQ(rank.record(observe("a", kValues)), 0) << "sequence numbers start over in each step";
    rank.end_step();
  }
  const trace::TraceReader reader(folder.trace());
  EXPECT_THAT(reader.steps(), ElementsAre(7, 8));
  const trace::Step step = reader.read_step(7);
  ASSERT_EQ(step.records.size(), 2U);
  EXPECT_EQ(step.records[0].what.site, "a");
  EXPECT_EQ(step.records[1].what.site, "b");
  EXPECT_EQ(step.records[1].what.phase, trace::Phase::kBackward);
  EXPECT_EQ(step.records[1].op, "linear");
  EXPECT_THAT(step.records[1].links, ElementsAre(trace::Link{0, trace::LinkGrade::kDeclared}));
  EXPECT_EQ(step.records[0].statistics.sum, -0.5);
  EXPECT_EQ(step.records[0].statistics.count, 3U);
  EXPECT_FALSE(step.records[0].has_values);
  EXPECT_EQ(*step.records[0].placement, trace::whole({"channel"}, {3}));
  ASSERT_EQ(step.progress.size(), 1U);
  EXPECT_TRUE(step.progress[0].complete);
}

TEST(Recorder, StepLeftOpenIsNotComplete) {
  TraceFolder folder;
  {
    Recorder recorder(plan_into(folder));
    RankRecorder& rank = recorder.add_rank(facts_of_rank(0));
    rank.begin_step(0);
    rank.record(observe("a", kValues));
  }
  const auto progress = trace::TraceReader(folder.trace()).progress(0);
  ASSERT_EQ(progress.size(), 1U);
  EXPECT_FALSE(progress[0].complete);
  EXPECT_EQ(progress[0].cut, trace::CutReason::kClose);
  EXPECT_EQ(progress[0].last_sequence, 0);
}

TEST(Recorder, FullKeepsStridedValuesInLocalOrder) {
  TraceFolder folder;
  const std::vector<float> storage{0, 1, 2, 3, 4, 5};
  Observation transposed = observe("a", storage);
  transposed.tensor.shape = {3, 2};
  transposed.tensor.strides = {1, 3};
  transposed.placement =
      std::make_shared<trace::Placement>(trace::whole({"row", "column"}, {3, 2}));
  Observation broadcast = transposed;
  broadcast.site = "b";
  broadcast.tensor.strides = {1, 0};
  {
    Recorder recorder(plan_into(folder, trace::Level::kFull));
    RankRecorder& rank = recorder.add_rank(facts_of_rank(0));
    rank.begin_step(0);
    rank.record(transposed);
    rank.record(broadcast);
    rank.end_step();
  }
  const trace::TraceReader reader(folder.trace());
  const trace::Step step = reader.read_step(0);
  ASSERT_EQ(step.records.size(), 2U);
  ASSERT_TRUE(step.records[0].has_values && step.records[1].has_values);
  EXPECT_THAT(reader.read_doubles(step.records[0]), ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_THAT(reader.read_doubles(step.records[1]), ElementsAre(0, 0, 1, 1, 2, 2));
}

TEST(Recorder, FullSitesKeepValuesAtLevelStats) {
  TraceFolder folder;
  trace::CapturePlan plan = plan_into(folder);
  plan.full_sites = {"layers.*.mlp"};
  {
    Recorder recorder(plan);
    RankRecorder& rank = recorder.add_rank(facts_of_rank(0));
    rank.begin_step(0);
    rank.record(observe("layers.3.mlp", kValues));
    rank.record(observe("layers.3.norm", kValues));
    rank.end_step();
  }
  const trace::Step step = trace::TraceReader(folder.trace()).read_step(0);
  ASSERT_EQ(step.records.size(), 2U);
  EXPECT_TRUE(step.records[0].has_values);
  EXPECT_FALSE(step.records[1].has_values);
}

TEST(Recorder, FullPhasesKeepValuesOfFullSitesInThesePhasesAlone) {
  TraceFolder folder;
  trace::CapturePlan plan = plan_into(folder);
  plan.full_sites = {"layers.*.mlp"};
  plan.full_phases = {"backward"};
  {
    Recorder recorder(plan);
    RankRecorder& rank = recorder.add_rank(facts_of_rank(0));
    rank.begin_step(0);
    rank.record(observe("layers.3.mlp", kValues));
    for (const std::string site : {"layers.3.mlp", "layers.3.norm"}) {
      Observation backward = observe(site, kValues);
      backward.phase = trace::Phase::kBackward;
      rank.record(backward);
    }
    rank.end_step();
  }
  const trace::Step step = trace::TraceReader(folder.trace()).read_step(0);
  ASSERT_EQ(step.records.size(), 3U);
  EXPECT_FALSE(step.records[0].has_values);
  EXPECT_TRUE(step.records[1].has_values);
  EXPECT_FALSE(step.records[2].has_values) << "no site of the plan";
}

TEST(Recorder, FiltersByStepRankSiteAndPhase) {
  TraceFolder folder;
  trace::CapturePlan plan = plan_into(folder);
  plan.steps = {1};
  plan.ranks = {1};
  plan.sites = {"keep.**", "never.met"};
  plan.phases = {"forward"};
  {
    Recorder recorder(plan);
    RankRecorder& other = recorder.add_rank(facts_of_rank(0, 2));
    RankRecorder& rank = recorder.add_rank(facts_of_rank(1, 2));
    EXPECT_FALSE(other.on());
    EXPECT_TRUE(rank.on());
    for (int64_t step = 0; step < 3; ++step) {
      rank.begin_step(step);
      EXPECT_EQ(rank.wants("keep.a", trace::Phase::kForward), step == 1);
      EXPECT_EQ(rank.record(observe("keep.a", kValues)), step == 1 ? 0 : -1);
      EXPECT_EQ(rank.record(observe("drop.a", kValues)), -1);
      EXPECT_EQ(rank.record(observe("keep.a", kValues, trace::Phase::kBackward)), -1);
      rank.end_step();
    }
  }
  const trace::TraceReader reader(folder.trace());
  EXPECT_THAT(reader.steps(), ElementsAre(1));
  EXPECT_EQ(reader.read_step(1).records.size(), 1U);
  ASSERT_NE(reader.facts_of(1), nullptr);
  EXPECT_EQ(reader.facts_of(1)->facts.at("filter.unmatched"), "site never.met")
      << "a filter that matched nothing is told, one that matched is not";
}

TEST(Recorder, OccurrenceCountsRepeatsOfOneMicrobatch) {
  TraceFolder folder;
  {
    Recorder recorder(plan_into(folder));
    RankRecorder& rank = recorder.add_rank(facts_of_rank(0));
    rank.begin_step(0);
    for (const int microbatch : {0, 1, 0}) {
      Observation observation = observe("a", kValues);
      observation.microbatch = microbatch;
      rank.record(observation);
    }
    rank.record(observe("a", kValues, trace::Phase::kBackward));
    rank.end_step();
  }
  std::vector<int> occurrences;
  for (const auto& record : trace::TraceReader(folder.trace()).read_step(0).records)
    occurrences.push_back(record.what.occurrence);
  EXPECT_THAT(occurrences, ElementsAre(0, 0, 1, 0));
}

TEST(Recorder, CollectiveLogTellsIssueAndWait) {
  TraceFolder folder;
  {
    Recorder recorder(plan_into(folder));
    RankRecorder& rank = recorder.add_rank(facts_of_rank(0));
    rank.begin_step(0);
    trace::Collective collective;
    collective.op = "all_reduce";
    collective.group = {0, 1};
    const int64_t waited = rank.issue_collective(collective);
    Observation operand = observe("a", kValues, trace::Phase::kPreCollective);
    operand.collective = waited;
    rank.collective_inputs(waited, {rank.record(operand)});
    rank.record(observe("between", kValues));
    rank.complete_collective(waited, {2});
    rank.issue_collective(collective);
    rank.end_step();
  }
  const trace::Step step = trace::TraceReader(folder.trace()).read_step(0);
  ASSERT_EQ(step.collectives.size(), 2U);
  const trace::Collective& waited = step.collectives[0];
  EXPECT_EQ(waited.group_sequence, 0);
  EXPECT_EQ(waited.issue_sequence, 0);
  EXPECT_EQ(waited.complete_sequence, 2);
  EXPECT_THAT(waited.inputs, ElementsAre(0));
  EXPECT_THAT(waited.outputs, ElementsAre(2));
  EXPECT_EQ(step.records[0].collective, step.collective_log_index[0]);
  EXPECT_EQ(step.collectives[1].group_sequence, 1);
  EXPECT_EQ(step.collectives[1].complete_sequence, -1) << "never waited for";
}

TEST(Recorder, ManyRowsBecomeSegmentsOf512) {
  TraceFolder folder;
  constexpr int kRows = 1300;
  {
    Recorder recorder(plan_into(folder));
    RankRecorder& rank = recorder.add_rank(facts_of_rank(0));
    rank.begin_step(0);
    for (int i = 0; i < kRows; ++i) ASSERT_EQ(rank.record(observe("a", kValues)), i);
    rank.end_step();
  }
  EXPECT_EQ(trace::TraceReader(folder.trace()).read_step(0).records.size(), size_t{kRows});
  EXPECT_TRUE(std::filesystem::exists(trace::segment_path(folder.trace(), {0, 0, 2})));
}

TEST(Recorder, FirstNonFiniteIsSealedWhenItsTapReturns) {
  TraceFolder folder;
  Recorder recorder(plan_into(folder));
  RankRecorder& rank = recorder.add_rank(facts_of_rank(0));
  rank.begin_step(0);
  rank.record(observe("before", kValues));
  EXPECT_FALSE(std::filesystem::exists(trace::segment_path(folder.trace(), {0, 0, 0})))
      << "a finite row alone waits for company";
  rank.record(observe("bad", {1.0F, std::numeric_limits<float>::quiet_NaN()}));
  const trace::Step step = trace::TraceReader(folder.trace()).read_step(0);
  ASSERT_EQ(step.records.size(), 2U);
  EXPECT_EQ(step.records[1].statistics.nan, 1U);
  EXPECT_EQ(step.progress[0].cut, trace::CutReason::kNonFinite);
}

TEST(Recorder, FactsReachLaterSegments) {
  TraceFolder folder;
  {
    Recorder recorder(plan_into(folder));
    RankRecorder& rank = recorder.add_rank(facts_of_rank(0));
    rank.fact("path.attention", "fused");
    rank.begin_step(0);
    rank.end_step();
  }
  const trace::TraceReader reader(folder.trace());
  ASSERT_NE(reader.facts_of(0), nullptr);
  EXPECT_EQ(reader.facts_of(0)->facts.at("path.attention"), "fused");
  EXPECT_EQ(reader.facts_of(0)->host, "host");
}

TEST(Recorder, SealMakesTheStepReadableSoFar) {
  TraceFolder folder;
  Recorder recorder(plan_into(folder));
  RankRecorder& rank = recorder.add_rank(facts_of_rank(0));
  rank.begin_step(0);
  rank.record(observe("a", kValues));
  rank.seal(trace::CutReason::kTrigger, "loss jumped", 10'000);
  const auto progress = trace::TraceReader(folder.trace()).progress(0);
  EXPECT_EQ(progress[0].cut, trace::CutReason::kTrigger);
  EXPECT_EQ(progress[0].cut_detail, "loss jumped");
}

TEST(Recorder, RanksAsThreadsKeepTheirOwnOrder) {
  TraceFolder folder;
  constexpr int kRanks = 3;
  constexpr int kRows = 400;
  {
    Recorder recorder(plan_into(folder, trace::Level::kFull));
    std::vector<RankRecorder*> ranks;
    for (int r = 0; r < kRanks; ++r) ranks.push_back(&recorder.add_rank(facts_of_rank(r, kRanks)));
    std::vector<std::thread> threads;
    for (RankRecorder* rank : ranks)
      threads.emplace_back([rank] {
        rank->begin_step(0);
        // The rank's communication thread records beside its compute thread.
        const auto record_half = [rank](trace::Lane lane) {
          Observation observation = observe("a", kValues);
          observation.lane = lane;
          for (int i = 0; i < kRows / 2; ++i) rank->record(observation);
        };
        std::thread communication(record_half, trace::Lane::kCommunication);
        record_half(trace::Lane::kCompute);
        communication.join();
        rank->end_step();
      });
    for (std::thread& thread : threads) thread.join();
  }
  const trace::Step step = trace::TraceReader(folder.trace()).read_step(0);
  ASSERT_EQ(step.records.size(), size_t{kRanks * kRows});
  for (int r = 0; r < kRanks; ++r) {
    EXPECT_TRUE(step.progress[r].complete);
    for (int i = 0; i < kRows; ++i) {
      EXPECT_EQ(step.records[r * kRows + i].where.sequence, i);
      EXPECT_EQ(step.records[r * kRows + i].what.occurrence, i);
    }
  }
}

TEST(Recorder, WithoutPlanNothingHappens) {
  TraceFolder folder;
  Recorder recorder(std::nullopt);
  recorder.seal_on_death();
  RankRecorder& rank = recorder.add_rank(facts_of_rank(0));
  EXPECT_FALSE(rank.on());
  rank.begin_step(0);
  EXPECT_FALSE(rank.wants("a", trace::Phase::kForward));
  EXPECT_EQ(rank.record(observe("a", kValues)), -1);
  EXPECT_EQ(rank.issue_collective({}), -1);
  rank.fail("nothing to fail");
  rank.seal(trace::CutReason::kTrigger, "", 10'000);
  rank.end_step();
  recorder.close();
  EXPECT_FALSE(std::filesystem::exists(folder.trace()));
}

}  // namespace
}  // namespace nanhunt::hooks
