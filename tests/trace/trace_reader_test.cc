// SPDX-License-Identifier: Apache-2.0
// Completeness, order and indices over the files of a folder.
#include "trace/trace_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/scratch_folder.h"
#include "tests/trace/example_segments.h"

namespace nanhunt::trace {
namespace {

using test::error_text;
using test::plain_segment;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(TraceReader, SegmentsOfAStepFollowOneAnother) {
  const ScratchFolder folder;
  write_segment(folder.path(), plain_segment(3, 0, 0, 1, 4, 0, CutReason::kRows));
  write_segment(folder.path(), plain_segment(3, 0, 1, 1, 2, 4, CutReason::kStepEnd));
  const TraceReader reader(folder.path());
  const Step step = reader.read_step(3);
  ASSERT_EQ(step.records.size(), 6u);
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(step.records[static_cast<size_t>(i)].where.sequence, i);
    EXPECT_EQ(step.find(0, i), i);
  }
  EXPECT_EQ(step.find(0, 6), -1);
  EXPECT_EQ(step.find(1, 0), -1);
  const RankProgress progress = reader.progress(3)[0];
  EXPECT_TRUE(progress.complete);
  EXPECT_EQ(progress.last_sequence, 5);
  EXPECT_GT(progress.bytes, 1000);
  EXPECT_EQ(describe_progress(progress), "");
}

TEST(TraceReader, FactsThatCameLateAreRead) {
  const ScratchFolder folder;
  Segment segment = plain_segment(3, 0, 0, 1, 4, 0, CutReason::kStepEnd);
  segment.facts.facts = {{"threads", "1"}};
  write_segment(folder.path(), segment);
  segment = plain_segment(4, 0, 0, 1, 4, 0, CutReason::kStepEnd);
  segment.facts.facts = {{"threads", "2"}, {"filter.unmatched", "site never.met"}};
  write_segment(folder.path(), segment);
  const TraceReader reader(folder.path());
  ASSERT_EQ(reader.facts().size(), 1u);
  EXPECT_THAT(reader.facts_of(0)->facts,
              ElementsAre(testing::Pair("filter.unmatched", "site never.met"),
                          testing::Pair("threads", "1")))
      << "what both say is the first one's";
}

TEST(TraceReader, RowsOfInterleavedLanesComeInProgramOrder) {
  const ScratchFolder folder;
  Segment first = plain_segment(0, 0, 0, 1, 2, 0, CutReason::kAge);
  first.records[1].where.sequence = 3;
  Segment second = plain_segment(0, 0, 1, 1, 2, 1, CutReason::kStepEnd);
  for (size_t i = 0; i < 2; ++i) {
    second.records[i].has_values = true;
    second.values.push_back(test::pattern_bytes(32 * 4, static_cast<unsigned>(i) + 1));
  }
  write_segment(folder.path(), first);
  write_segment(folder.path(), second);
  const TraceReader reader(folder.path());
  const Step step = reader.read_step(0);
  std::vector<int64_t> order;
  for (const Record& record : step.records) order.push_back(record.where.sequence);
  EXPECT_THAT(order, ElementsAre(0, 1, 2, 3));
  std::vector<std::byte> values(32 * 4);
  reader.read_values(step.records[2], 0, 32, values);
  EXPECT_EQ(values, second.values[1]);
}

TEST(TraceReader, RepeatedSequenceIsRefused) {
  const ScratchFolder folder;
  write_segment(folder.path(), plain_segment(0, 0, 0, 1, 2, 0, CutReason::kRows));
  write_segment(folder.path(), plain_segment(0, 0, 1, 1, 2, 1, CutReason::kStepEnd));
  EXPECT_THAT(error_text([&] { TraceReader(folder.path()).read_step(0); }),
              HasSubstr("sequence 1 of rank 0 occurs twice in step 0"));
}

TEST(TraceReader, MissingIndexIsIncomplete) {
  const ScratchFolder folder;
  write_segment(folder.path(), plain_segment(0, 0, 0, 1, 4, 0, CutReason::kRows));
  write_segment(folder.path(), plain_segment(0, 0, 2, 1, 4, 8, CutReason::kStepEnd));
  const TraceReader reader(folder.path());
  const RankProgress progress = reader.progress(0)[0];
  EXPECT_TRUE(progress.present);
  EXPECT_FALSE(progress.complete);
  EXPECT_EQ(progress.last_sequence, 11);
  EXPECT_EQ(
      describe_progress(progress),
      "rank 0 reached the end of the step at sequence 11, but segments before it are missing");
  EXPECT_EQ(reader.read_step(0).records.size(), 8u);
  // The twin: with the missing one the step is complete.
  write_segment(folder.path(), plain_segment(0, 0, 1, 1, 4, 4, CutReason::kRows));
  EXPECT_TRUE(TraceReader(folder.path()).progress(0)[0].complete);
}

TEST(TraceReader, MissingAndUnfinishedRanksAreNamed) {
  const ScratchFolder folder;
  write_segment(folder.path(), plain_segment(0, 0, 0, 4, 3, 0, CutReason::kStepEnd));
  write_segment(folder.path(), plain_segment(0, 2, 0, 4, 3, 0, CutReason::kNonFinite));
  Segment killed = plain_segment(0, 3, 0, 4, 3, 0, CutReason::kSignal);
  killed.cut_detail = "SIGTERM";
  write_segment(folder.path(), killed);
  const TraceReader reader(folder.path());
  EXPECT_EQ(reader.world_size(), 4);
  std::vector<std::string> texts;
  for (const RankProgress& progress : reader.read_step(0).progress) {
    texts.push_back(describe_progress(progress));
  }
  EXPECT_THAT(
      texts,
      ElementsAre("", "rank 1 wrote nothing", "rank 2 ends at sequence 2, no further segments",
                  "rank 3 ends at sequence 2, no further segments (signal: SIGTERM)"));
  EXPECT_EQ(reader.facts().size(), 3u);
  EXPECT_EQ(reader.facts_of(1), nullptr);
}

// A rank that dies between two steps says so behind the first, which stays whole.
TEST(TraceReader, DeathBetweenStepsIsToldWhereTheRankIsMissed) {
  const ScratchFolder folder;
  for (const int32_t rank : {0, 1}) {
    write_segment(folder.path(), plain_segment(0, rank, 0, 2, 3, 0, CutReason::kStepEnd));
  }
  write_segment(folder.path(), plain_segment(1, 0, 0, 2, 3, 0, CutReason::kClose));
  EXPECT_EQ(describe_progress(TraceReader(folder.path()).progress(1)[1]), "rank 1 wrote nothing");

  Segment death = plain_segment(0, 1, 1, 2, 0, 0, CutReason::kSignal);
  death.cut_detail = "SIGSEGV";
  write_segment(folder.path(), death);
  const TraceReader reader(folder.path());
  EXPECT_TRUE(reader.progress(0)[1].complete);
  EXPECT_EQ(reader.read_step(0).records.size(), 6u);
  EXPECT_EQ(describe_progress(reader.progress(1)[1]),
            "rank 1 wrote nothing (it died before: signal: SIGSEGV)");

  // The twin: with rows in it the step itself was not ended.
  Segment inside = plain_segment(0, 1, 1, 2, 1, 3, CutReason::kSignal);
  write_segment(folder.path(), inside);
  EXPECT_FALSE(TraceReader(folder.path()).progress(0)[1].complete);
}

TEST(TraceReader, StepsAreSortedAndUnknownOnesRefused) {
  const ScratchFolder folder;
  for (const int64_t step : {10, 2, 1000000}) {
    write_segment(folder.path(), plain_segment(step, 0, 0, 1, 1, 0, CutReason::kStepEnd));
  }
  const TraceReader reader(folder.path());
  EXPECT_THAT(reader.steps(), ElementsAre(2, 10, 1000000));
  EXPECT_EQ(reader.read_step(1000000).records[0].what.step, 1000000);
  EXPECT_THAT(error_text([&] { reader.read_step(3); }), HasSubstr("has no step 3"));
}

TEST(TraceReader, WhatIndexOrdersByRankAndSequence) {
  const ScratchFolder folder;
  for (const int32_t rank : {1, 0}) {
    Segment segment = plain_segment(0, rank, 0, 2, 2, 0, CutReason::kStepEnd);
    segment.records[1].what = segment.records[0].what;
    write_segment(folder.path(), segment);
  }
  const Step step = TraceReader(folder.path()).read_step(0);
  ASSERT_EQ(step.by_what().size(), 1u);
  EXPECT_THAT(step.by_what().begin()->second, ElementsAre(0, 1, 2, 3));
}

TEST(TraceReader, StepMadeInMemoryCountsCollectivesPerRank) {
  Step step;
  for (const int32_t rank : {0, 0, 1}) {
    Collective collective;
    collective.rank = rank;
    step.collectives.push_back(collective);
  }
  step.build_index();
  EXPECT_EQ(step.find_collective(0, 1), 1);
  EXPECT_EQ(step.find_collective(1, 0), 2);
  EXPECT_EQ(step.find_collective(1, 1), -1);
  step.collective_log_index = {4, 5, 9};
  step.build_index();
  EXPECT_EQ(step.find_collective(1, 9), 2);
  EXPECT_EQ(step.find_collective(1, 0), -1);
}

TEST(TraceReader, CollectivesComeInOrderOfTheirLog) {
  const ScratchFolder folder;
  Segment first = plain_segment(0, 0, 0, 1, 1, 0, CutReason::kRows);
  Segment second = plain_segment(0, 0, 1, 1, 1, 1, CutReason::kStepEnd);
  Collective late;
  late.op = "all_gather";
  Collective early;
  early.op = "all_reduce";
  first.collectives = {late};
  first.collective_index = {1};
  second.collectives = {early};
  second.collective_index = {0};
  write_segment(folder.path(), first);
  write_segment(folder.path(), second);
  const Step step = TraceReader(folder.path()).read_step(0);
  ASSERT_EQ(step.collectives.size(), 2u);
  EXPECT_EQ(step.collectives[0].op, "all_reduce");
  EXPECT_EQ(step.collectives[static_cast<size_t>(step.find_collective(0, 1))].op, "all_gather");
}

TEST(TraceReader, ManyFilesShareFewHandles) {
  const ScratchFolder folder;
  for (int32_t rank = 0; rank < 40; ++rank) {
    Segment segment = plain_segment(0, rank, 0, 40, 1, 0, CutReason::kStepEnd);
    segment.records[0].has_values = true;
    segment.values.push_back(test::pattern_bytes(32 * 4, static_cast<unsigned>(rank) + 1));
    write_segment(folder.path(), segment);
  }
  const TraceReader reader(folder.path());
  const Step step = reader.read_step(0);
  for (int32_t rank = 39; rank >= 0; --rank) {
    std::vector<std::byte> values(32 * 4);
    reader.read_values(step.records[static_cast<size_t>(rank)], 0, 32, values);
    EXPECT_EQ(values, test::pattern_bytes(32 * 4, static_cast<unsigned>(rank) + 1));
    EXPECT_NE(values, test::pattern_bytes(32 * 4, static_cast<unsigned>(rank) + 2));
  }
  size_t open_files = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const auto target = std::filesystem::read_symlink(entry.path(), gone).string();
    open_files += target.starts_with(folder.path().string()) ? 1u : 0u;
  }
  EXPECT_GT(open_files, 0u);
  EXPECT_LE(open_files, 32u);
}

TEST(SegmentPath, RoundTripAndForeignNames) {
  const auto path = segment_path("/trace", {12, 3, 7});
  EXPECT_EQ(path, "/trace/step-000012/rank-00003.007.h5");
  const auto name = parse_segment_path(path);
  ASSERT_TRUE(name.has_value());
  EXPECT_EQ(std::tuple(name->step, name->rank, name->index), std::tuple(12, 3, 7));
  const auto large = parse_segment_path(segment_path("t", {12345678, 123456, 4321}));
  ASSERT_TRUE(large.has_value());
  EXPECT_EQ(large->rank, 123456);
  for (const char* other :
       {"step-000012/.rank-00003.007.h5.part", "step-000012/rank-3.7.h5",
        "step-12/rank-00003.007.h5", "step-000012/rank-00003.007.h5~", "rank-00003.007.h5",
        "step-000012/rank--0003.007.h5", "step-000012/rank-00003.007"}) {
    EXPECT_FALSE(parse_segment_path(other).has_value()) << other;
  }
}

TEST(RecordNames, DescriptionAndKind) {
  EXPECT_EQ(describe(What{2, "decoder.layers.0.mlp.linear_fc1", Phase::kForward, "output", 0}),
            "step 2 decoder.layers.0.mlp.linear_fc1 forward output");
  EXPECT_EQ(describe(What{2, "loss", Phase::kLoss, "output", 3}),
            "step 2 loss loss output (occurrence 3)");
  EXPECT_EQ(site_kind("decoder.layers.11.mlp.linear_fc1"), "decoder.layers.*.mlp.linear_fc1");
  EXPECT_NE(site_kind("mlp.linear_fc1"), site_kind("mlp.linear_fc2"));
  EXPECT_EQ(site_kind("loss"), "loss");
}

}  // namespace
}  // namespace nanhunt::trace
