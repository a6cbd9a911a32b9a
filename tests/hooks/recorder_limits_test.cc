// SPDX-License-Identifier: Apache-2.0
// Bounds, failures and broken hooks: what is left out is written down, and training never notices.
#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>

#include "hooks/recorder.h"
#include "tests/hooks/recorder_fixture.h"

namespace nanhunt::hooks {
namespace {

using testing::HasSubstr;

const std::vector<float> kValues{1.0F, -2.0F, 0.5F};

TEST(RecorderLimits, ValuesBeyondTheMemoryBoundAreWrittenDown) {
  TraceFolder folder;
  trace::CapturePlan plan = plan_into(folder, trace::Level::kFull);
  plan.queue_bytes = 64 << 10;
  const std::vector<float> too_large(32 << 10, 1.0F);
  {
    Recorder recorder(plan);
    RankRecorder& rank = recorder.add_rank(facts_of_rank(0));
    rank.begin_step(0);
    EXPECT_EQ(rank.record(observe("large", too_large)), 0) << "the row itself is kept";
    EXPECT_EQ(rank.record(observe("small", kValues)), 1);
    rank.end_step();
  }
  const trace::Step step = trace::TraceReader(folder.trace()).read_step(0);
  ASSERT_EQ(step.records.size(), 2U);
  EXPECT_FALSE(step.records[0].has_values);
  EXPECT_TRUE(step.records[1].has_values);
  EXPECT_EQ(left_out(step, "memory"), 1);
}

TEST(RecorderLimits, NothingIsWrittenDownWhenNothingIsLeftOut) {
  TraceFolder folder;
  {
    Recorder recorder(plan_into(folder, trace::Level::kFull));
    RankRecorder& rank = recorder.add_rank(facts_of_rank(0));
    rank.begin_step(0);
    rank.record(observe("small", kValues));
    rank.end_step();
  }
  EXPECT_TRUE(trace::TraceReader(folder.trace()).read_step(0).dropped.empty());
}

// More values than the bound holds at once: callers wait for the writer, and all are kept.
TEST(RecorderLimits, SmallQueueSlowsDownButKeepsAll) {
  TraceFolder folder;
  trace::CapturePlan plan = plan_into(folder, trace::Level::kFull);
  plan.queue_bytes = 256 << 10;
  const std::vector<float> tensor(16 << 10, 1.0F);  // a quarter of the bound
  constexpr int kRows = 40;
  {
    Recorder recorder(plan);
    RankRecorder& rank = recorder.add_rank(facts_of_rank(0));
    rank.begin_step(0);
    for (int i = 0; i < kRows; ++i) rank.record(observe("a", tensor));
    rank.end_step();
  }
  const trace::Step step = trace::TraceReader(folder.trace()).read_step(0);
  ASSERT_EQ(step.records.size(), size_t{kRows});
  const auto with_values = std::count_if(step.records.begin(), step.records.end(),
                                         [](const auto& record) { return record.has_values; });
  EXPECT_EQ(with_values + left_out(step, "memory"), kRows);
  EXPECT_GT(with_values, 4) << "room comes back when segments are sealed";
}

TEST(RecorderLimits, TraceBoundDropsValuesFirstAndThenStops) {
  TraceFolder folder;
  trace::CapturePlan plan = plan_into(folder, trace::Level::kFull);
  plan.trace_bytes = 1 << 20;
  const std::vector<float> tensor(16 << 10, 1.0F);
  int rows = 0;
  {
    Recorder recorder(plan);
    RankRecorder& rank = recorder.add_rank(facts_of_rank(0));
    rank.begin_step(0);
    testing::internal::CaptureStderr();
    while (rank.record(observe("a", tensor)) >= 0) ++rows;
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("bound on the size"));
    EXPECT_FALSE(rank.on());
    rank.end_step();
  }
  const trace::Step step = trace::TraceReader(folder.trace()).read_step(0);
  EXPECT_EQ(step.records.size(), static_cast<size_t>(rows));
  EXPECT_TRUE(step.records.front().has_values);
  EXPECT_FALSE(step.records.back().has_values);
  EXPECT_GT(left_out(step, "bytes"), 0);
  EXPECT_FALSE(step.progress[0].complete);
  int64_t bytes = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.trace()))
    if (entry.is_regular_file()) bytes += static_cast<int64_t>(entry.file_size());
  EXPECT_LE(bytes, plan.trace_bytes);
}

TEST(RecorderLimits, FailedWriteStopsCaptureAndNothingElse) {
  TraceFolder folder;
  std::filesystem::create_directories(folder.trace().parent_path());
  std::ofstream(folder.trace()) << "a file where the folder should be";
  Recorder recorder(plan_into(folder));
  RankRecorder& rank = recorder.add_rank(facts_of_rank(0));
  testing::internal::CaptureStderr();
  rank.begin_step(0);
  rank.record(observe("a", kValues));
  rank.seal(trace::CutReason::kTrigger, "", 10'000);
  EXPECT_FALSE(rank.on());
  EXPECT_EQ(rank.record(observe("a", kValues)), -1);
  rank.end_step();
  recorder.close();
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr("nanhunt: capture stopped: "));
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
}

TEST(RecorderLimits, BrokenHookMarksTheTraceAndSwitchesItsRankOff) {
  TraceFolder folder;
  testing::internal::CaptureStderr();
  {
    Recorder recorder(plan_into(folder));
    RankRecorder& broken = recorder.add_rank(facts_of_rank(0, 2));
    RankRecorder& sound = recorder.add_rank(facts_of_rank(1, 2));
    for (RankRecorder* rank : {&broken, &sound}) {
      rank->begin_step(0);
      rank->record(observe("a", kValues));
    }
    Observation misplaced = observe("b", kValues);
    misplaced.placement = std::make_shared<trace::Placement>(trace::whole({"channel"}, {5}));
    EXPECT_EQ(broken.record(misplaced), -1);
    EXPECT_FALSE(broken.on());
    EXPECT_TRUE(sound.on());
    broken.end_step();
    sound.end_step();
  }
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("capture of rank 0 stopped"));
  const trace::Step step = trace::TraceReader(folder.trace()).read_step(0);
  EXPECT_EQ(step.records.size(), 2U) << "what was sealed before stays";
  EXPECT_EQ(left_out(step, "hook_failed: "), 1);
  EXPECT_FALSE(step.progress[0].complete);
  EXPECT_TRUE(step.progress[1].complete);
}

}  // namespace
}  // namespace nanhunt::hooks
