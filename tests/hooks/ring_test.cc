// SPDX-License-Identifier: Apache-2.0
// Recorder with a ring: which steps reach the disk, and what the files say about it.
#include <gmock/gmock.h>

#include <fstream>
#include <limits>

#include "tests/hooks/recorder_fixture.h"
#include "trace/error.h"

namespace nanhunt::hooks {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::vector<float> kGood{1.0F, 2.0F};
const std::vector<float> kBad{1.0F, std::numeric_limits<float>::quiet_NaN()};

trace::CapturePlan ring_plan(const TraceFolder& folder, int32_t ring,
                             const std::vector<std::string>& triggers,
                             trace::Level level = trace::Level::kStats) {
  trace::CapturePlan plan = plan_into(folder, level);
  plan.ring = ring;
  for (const std::string& text : triggers) plan.triggers.push_back(*trace::trigger_from_text(text));
  return plan;
}

void run_step(RankRecorder& rank, int64_t step, const std::vector<float>& values = kGood) {
  rank.begin_step(step);
  rank.record(observe("before", kGood));
  rank.record(observe("site", values));
  rank.record(observe("after", kGood));
  rank.end_step();
}

// Ten steps, the one with number `bad` (if any) has a NaN.
void run_ten(const trace::CapturePlan& plan, int64_t bad = -1) {
  Recorder recorder(plan);
  RankRecorder& rank = recorder.add_rank(facts_of_rank(0));
  for (int64_t step = 0; step < 10; ++step) run_step(rank, step, step == bad ? kBad : kGood);
}

std::string fact(const trace::TraceReader& reader, const char* name) {
  const auto& facts = reader.facts().front().facts;
  const auto found = facts.find(name);
  return found == facts.end() ? "" : found->second;
}

TEST(Ring, IsWrittenWithTheStepThatFiredAndOneMore) {
  TraceFolder folder;
  run_ten(ring_plan(folder, 2, {"nonfinite"}), 5);
  const trace::TraceReader reader(folder.trace());
  EXPECT_THAT(reader.steps(), ElementsAre(3, 4, 5, 6));
  for (const int64_t step : reader.steps()) {
    EXPECT_TRUE(reader.progress(step)[0].complete) << step;
    EXPECT_EQ(reader.read_step(step).records.size(), 3U) << step;
  }
  EXPECT_EQ(fact(reader, trace::ring_fact::kTrigger), "nonfinite");
  EXPECT_EQ(fact(reader, trace::ring_fact::kTriggerStep), "5");
  EXPECT_EQ(fact(reader, trace::ring_fact::kStepsSeen), "6");
  EXPECT_EQ(fact(reader, trace::ring_fact::kDetail),
            "site forward output, rank 0: measured 1 NaN or Inf, allowed 0");
}

TEST(Ring, OffWritesAll) {
  TraceFolder folder;
  run_ten(plan_into(folder), 5);
  const trace::TraceReader reader(folder.trace());
  EXPECT_EQ(reader.steps().size(), 10U);
  EXPECT_EQ(fact(reader, trace::ring_fact::kTrigger), "");
}

TEST(Ring, WithoutATriggerOnlySaysThatItWatched) {
  TraceFolder folder;
  run_ten(ring_plan(folder, 2, {"nonfinite", "loss>2x"}));
  const trace::TraceReader reader(folder.trace());
  EXPECT_THAT(reader.steps(), ElementsAre(9));
  EXPECT_TRUE(reader.read_step(9).records.empty());
  EXPECT_EQ(fact(reader, trace::ring_fact::kTrigger), "none");
  EXPECT_EQ(fact(reader, trace::ring_fact::kStepsSeen), "10");
  EXPECT_EQ(fact(reader, trace::ring_fact::kUnmatched), "loss>2x");
  EXPECT_EQ(reader.progress(9)[0].cut_detail, "ring: 10 steps watched, no trigger fired");
}

TEST(Ring, ExitWritesTheLastSteps) {
  TraceFolder folder;
  run_ten(ring_plan(folder, 3, {"exit"}), 5);
  const trace::TraceReader reader(folder.trace());
  EXPECT_THAT(reader.steps(), ElementsAre(7, 8, 9));
  EXPECT_EQ(fact(reader, trace::ring_fact::kTrigger), "exit");
}

TEST(Ring, TheTapThatSeesItWaitsUntilItIsWritten) {
  TraceFolder folder;
  Recorder recorder(ring_plan(folder, 2, {"nonfinite"}));
  RankRecorder& rank = recorder.add_rank(facts_of_rank(0));
  rank.begin_step(0);
  rank.record(observe("a", kBad));
  const trace::TraceReader reader(folder.trace());
  EXPECT_EQ(reader.progress(0)[0].cut, trace::CutReason::kTrigger);
  EXPECT_EQ(reader.progress(0)[0].cut_detail,
            "nonfinite: a forward output, rank 0: measured 1 NaN or Inf, allowed 0");
}

TEST(Ring, AskingForASealWritesIt) {
  TraceFolder folder;
  Recorder recorder(ring_plan(folder, 2, {"nonfinite"}));
  RankRecorder& rank = recorder.add_rank(facts_of_rank(0));
  for (int64_t step = 0; step < 3; ++step) run_step(rank, step);
  EXPECT_FALSE(std::filesystem::exists(folder.trace()));
  rank.begin_step(3);
  rank.record(observe("a", kGood));
  rank.seal(trace::CutReason::kTrigger, "the user pressed a key", 10'000);
  EXPECT_EQ(trace::TraceReader(folder.trace()).read_step(3).records.size(), 1U);
  recorder.close();
  EXPECT_THAT(trace::TraceReader(folder.trace()).steps(), ElementsAre(1, 2, 3));
}

TEST(Ring, LossThatJumpsIsWritten) {
  for (const float last : {2.5F, 1.5F}) {
    TraceFolder folder;
    {
      Recorder recorder(ring_plan(folder, 2, {"loss>2x"}));
      RankRecorder& rank = recorder.add_rank(facts_of_rank(0));
      for (int64_t step = 0; step < 5; ++step) {
        rank.begin_step(step);
        rank.record(observe("loss", {step == 4 ? last : 1.0F}, trace::Phase::kLoss));
        rank.end_step();
      }
    }
    const trace::TraceReader reader(folder.trace());
    EXPECT_EQ(fact(reader, trace::ring_fact::kTrigger), last > 2 ? "loss>2x" : "none");
    EXPECT_EQ(reader.steps().size(), last > 2 ? 3U : 1U);
  }
}

TEST(Ring, AllRanksOfTheProcessAreWritten) {
  TraceFolder folder;
  {
    Recorder recorder(ring_plan(folder, 1, {"nonfinite"}));
    RankRecorder& sound = recorder.add_rank(facts_of_rank(0, 2));
    RankRecorder& sick = recorder.add_rank(facts_of_rank(1, 2));
    for (int64_t step = 0; step < 6; ++step) {
      run_step(sound, step);
      run_step(sick, step, step == 3 ? kBad : kGood);
    }
  }
  const trace::TraceReader reader(folder.trace());
  EXPECT_THAT(reader.steps(), ElementsAre(2, 3, 4)) << "a finished step 3 of rank 0 is in its ring";
  EXPECT_TRUE(reader.progress(3)[0].complete);
  EXPECT_TRUE(reader.progress(3)[1].complete);
  EXPECT_THAT(reader.facts_of(0)->facts.at(trace::ring_fact::kDetail), HasSubstr("rank 1"));
  EXPECT_TRUE(std::filesystem::exists(folder.trace() / "trigger-000.txt"));
}

TEST(Ring, OneFaultIsAnnouncedOnce) {
  for (const bool again : {false, true}) {
    TraceFolder folder;
    {
      Recorder recorder(ring_plan(folder, 1, {"nonfinite"}));
      RankRecorder& one = recorder.add_rank(facts_of_rank(0, 2));
      RankRecorder& two = recorder.add_rank(facts_of_rank(1, 2));
      for (int64_t step = 0; step < 8; ++step) {
        const bool bad = step == 3 || (again && step == 7);
        run_step(one, step, bad ? kBad : kGood);
        run_step(two, step, bad ? kBad : kGood);
      }
    }
    EXPECT_TRUE(std::filesystem::exists(folder.trace() / "trigger-000.txt"));
    EXPECT_EQ(std::filesystem::exists(folder.trace() / "trigger-001.txt"), again);
  }
}

// Two recorders stand for two processes: they share nothing but the folder.
TEST(Ring, ProcessesTellEachOther) {
  TraceFolder folder;
  {
    Recorder here(ring_plan(folder, 2, {"nonfinite"})), there(ring_plan(folder, 2, {"nonfinite"}));
    RankRecorder& sound = here.add_rank(facts_of_rank(0, 2));
    RankRecorder& sick = there.add_rank(facts_of_rank(1, 2));
    for (int64_t step = 0; step < 4; ++step) {
      run_step(sick, step, step == 3 ? kBad : kGood);
      run_step(sound, step);
    }
  }
  const trace::TraceReader reader(folder.trace());
  // Who hears early, inside its step 2 or 3, still has step 0 as well.
  EXPECT_THAT(reader.steps(), testing::IsSupersetOf({1, 2, 3}));
  for (const auto& progress : reader.progress(2)) EXPECT_TRUE(progress.complete);
  EXPECT_EQ(reader.facts_of(0)->facts.at(trace::ring_fact::kTriggerStep), "3");
  std::ifstream said(folder.trace() / "trigger-000.txt");
  std::string line;
  std::getline(said, line);
  EXPECT_EQ(line, "nonfinite");
}

TEST(Ring, WhatAnEarlierRunAnnouncedMeansNothing) {
  TraceFolder folder;
  std::filesystem::create_directories(folder.trace());
  std::ofstream(folder.trace() / "trigger-000.txt") << "nonfinite\nstep 3\nold\n";
  run_ten(ring_plan(folder, 2, {"nonfinite"}));
  EXPECT_EQ(fact(trace::TraceReader(folder.trace()), trace::ring_fact::kTrigger), "none");
}

TEST(Ring, SecondTriggerIsWrittenToo) {
  TraceFolder folder;
  {
    Recorder recorder(ring_plan(folder, 1, {"nonfinite"}));
    RankRecorder& rank = recorder.add_rank(facts_of_rank(0));
    for (int64_t step = 0; step < 12; ++step)
      run_step(rank, step, step == 3 || step == 9 ? kBad : kGood);
  }
  EXPECT_THAT(trace::TraceReader(folder.trace()).steps(), ElementsAre(2, 3, 4, 8, 9, 10));
}

TEST(Ring, BoundDropsOldestValuesAndSaysSo) {
  const std::vector<float> large(4096, 1.0F);
  for (const bool bounded : {true, false}) {
    TraceFolder folder;
    trace::CapturePlan plan = ring_plan(folder, 4, {"exit"}, trace::Level::kFull);
    if (bounded) plan.ring_bytes = 2 * 4096 * sizeof(float) + 8192;
    {
      Recorder recorder(plan);
      RankRecorder& rank = recorder.add_rank(facts_of_rank(0));
      for (int64_t step = 0; step < 8; ++step) {
        rank.begin_step(step);
        rank.record(observe("large", large));
        rank.end_step();
      }
    }
    const trace::TraceReader reader(folder.trace());
    ASSERT_THAT(reader.steps(), ElementsAre(4, 5, 6, 7));
    const trace::Step oldest = reader.read_step(4), newest = reader.read_step(7);
    EXPECT_EQ(oldest.records[0].has_values, !bounded);
    EXPECT_EQ(left_out(oldest, "ring: values"), bounded ? 1 : 0);
    EXPECT_TRUE(newest.records[0].has_values);
    EXPECT_EQ(reader.read_doubles(newest.records[0]).back(), 1.0);
  }
}

// The ring gives its room in the queue back: many more rows than the queue holds, and none waits.
TEST(Ring, DoesNotFillTheQueue) {
  TraceFolder folder;
  trace::CapturePlan plan = ring_plan(folder, 1000, {"exit"});
  plan.queue_bytes = 64 << 10;
  {
    Recorder recorder(plan);
    RankRecorder& rank = recorder.add_rank(facts_of_rank(0));
    rank.begin_step(0);
    for (int i = 0; i < 2000; ++i) rank.record(observe("a", kGood));
    rank.end_step();
  }
  EXPECT_EQ(trace::TraceReader(folder.trace()).read_step(0).records.size(), 2000U);
}

TEST(Ring, TraceBoundHolds) {
  TraceFolder folder;
  trace::CapturePlan plan = ring_plan(folder, 8, {"exit"}, trace::Level::kFull);
  plan.trace_bytes = 1 << 20;
  const std::vector<float> large(64 << 10, 1.0F);
  {
    Recorder recorder(plan);
    RankRecorder& rank = recorder.add_rank(facts_of_rank(0));
    for (int64_t step = 0; step < 20; ++step) {
      rank.begin_step(step);
      rank.record(observe("large", large));
      rank.end_step();
    }
    EXPECT_TRUE(rank.on()) << "what was watched and let go costs nothing";
  }
  int64_t bytes = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.trace()))
    if (entry.is_regular_file()) bytes += static_cast<int64_t>(entry.file_size());
  EXPECT_LE(bytes, plan.trace_bytes);
  EXPECT_EQ(trace::TraceReader(folder.trace()).steps().size(), 8U);
}

}  // namespace
}  // namespace nanhunt::hooks
