// SPDX-License-Identifier: Apache-2.0
// What is written comes back, to the bit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "tests/support/scratch_folder.h"
#include "tests/trace/example_segments.h"
#include "trace/trace_reader.h"

namespace nanhunt::trace {
namespace {

using test::rich_segment;

std::vector<double> numbers_of(const Statistics& s) {
  return {static_cast<double>(s.count),
          static_cast<double>(s.nan),
          static_cast<double>(s.pos_inf),
          static_cast<double>(s.neg_inf),
          static_cast<double>(s.zero),
          static_cast<double>(s.subnormal),
          static_cast<double>(s.saturated),
          static_cast<double>(s.padding),
          s.min,
          s.max,
          s.sum,
          s.sum_squares};
}

bool same_bits(double a, double b) {
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
}

bool same_statistics(const Statistics& a, const Statistics& b) {
  const auto x = numbers_of(a), y = numbers_of(b);
  return std::equal(x.begin(), x.end(), y.begin(), same_bits);
}

bool same_print(const RegionPrint& a, const RegionPrint& b) {
  return a.value_digest == b.value_digest && a.mask_digest == b.mask_digest &&
         same_bits(a.sum_squares, b.sum_squares) && a.sketch == b.sketch;
}

bool same_record(const Record& a, const Record& b) {
  const bool same_placement = (a.placement == nullptr) == (b.placement == nullptr) &&
                              (a.placement == nullptr || *a.placement == *b.placement);
  return a.what == b.what && a.where.rank == b.where.rank &&
         a.where.microbatch == b.where.microbatch && a.where.sequence == b.where.sequence &&
         a.where.lane == b.where.lane && a.storage == b.storage && a.compute == b.compute &&
         a.rounding == b.rounding && a.local_shape == b.local_shape && same_placement &&
         a.op == b.op && a.attributes == b.attributes && a.links == b.links &&
         a.collective == b.collective &&
         same_statistics(a.statistics, b.statistics) && a.raw_digest == b.raw_digest &&
         a.segment_digests == b.segment_digests && a.has_values == b.has_values &&
         std::equal(a.regions.begin(), a.regions.end(), b.regions.begin(), b.regions.end(),
                    same_print);
}

bool same_collective(const Collective& a, const Collective& b) {
  return a.step == b.step && a.rank == b.rank && a.op == b.op && a.group == b.group &&
         a.group_sequence == b.group_sequence && a.reduce == b.reduce && a.divisor == b.divisor &&
         a.prescaled == b.prescaled && a.accumulate == b.accumulate && a.order == b.order &&
         a.async == b.async && a.issue_sequence == b.issue_sequence &&
         a.complete_sequence == b.complete_sequence && a.inputs == b.inputs &&
         a.outputs == b.outputs;
}

std::vector<std::byte> values_of(const TraceReader& reader, const Record& record, size_t elements) {
  std::vector<std::byte> bytes(elements * size_of(record.storage));
  reader.read_values(record, 0, static_cast<int64_t>(elements), bytes);
  return bytes;
}

TEST(SegmentRoundTrip, RecordsComeBackWhole) {
  const ScratchFolder folder;
  const Segment segment = rich_segment(12, 1, 0, 2);
  write_segment(folder.path(), segment);
  const TraceReader reader(folder.path());
  const Step step = reader.read_step(12);
  ASSERT_EQ(step.records.size(), segment.records.size());
  for (size_t i = 0; i < step.records.size(); ++i) {
    EXPECT_TRUE(same_record(step.records[i], segment.records[i])) << describe(step.records[i].what);
  }
}

// The twin of the test above: the comparison it uses sees each field.
TEST(SegmentRoundTrip, ComparisonSeesEachField) {
  const Record record = rich_segment(12, 1, 0, 2).records[14];
  const std::function<void(Record&)> changes[] = {
      [](Record& r) { r.what.occurrence++; },
      [](Record& r) { r.where.microbatch++; },
      [](Record& r) {
        r.where.lane = Lane::kAutograd;
        r.where.lane = Lane::kCommunication;
      },
      [](Record& r) { r.statistics.sum = 1; },
      [](Record& r) { r.statistics.sum_squares = 0.0; },
      [](Record& r) { r.links.pop_back(); },
      [](Record& r) { r.segment_digests[2]--; },
      [](Record& r) { r.regions[0].sketch[63] += 1; },
      [](Record& r) { r.placement = nullptr; },
      [](Record& r) { r.placement = std::make_shared<Placement>(); },
      [](Record& r) { r.has_values = !r.has_values; }};
  EXPECT_TRUE(same_record(record, record));
  int seen = 0;
  for (const auto& change : changes) {
    Record other = record;
    change(other);
    seen += same_record(record, other) ? 0 : 1;
  }
  EXPECT_EQ(seen, static_cast<int>(std::size(changes)));
}

TEST(SegmentRoundTrip, ValuesOfEachDTypeComeBackToTheBit) {
  const ScratchFolder folder;
  const Segment segment = rich_segment(12, 1, 0, 2);
  write_segment(folder.path(), segment);
  const TraceReader reader(folder.path());
  const Step step = reader.read_step(12);
  int checked = 0;
  for (size_t i = 0; i < step.records.size(); ++i) {
    const Record& record = step.records[i];
    if (!record.has_values) continue;
    const size_t elements = segment.values[i].size() / size_of(record.storage);
    EXPECT_EQ(values_of(reader, record, elements), segment.values[i]) << describe(record.what);
    const std::vector<double> doubles = reader.read_doubles(record);
    ASSERT_EQ(doubles.size(), elements);
    for (size_t e = 0; e < elements; ++e) {
      const double expected = element_as_double(segment.values[i].data(), record.storage, e);
      EXPECT_TRUE(same_bits(doubles[e], expected) ||
                  (std::isnan(doubles[e]) && std::isnan(expected)));
    }
    ++checked;
  }
  EXPECT_EQ(checked, 15);  // 12 dtypes, scalar, empty, odd name
}

TEST(SegmentRoundTrip, PiecesOfValuesAreThoseOfTheWhole) {
  const ScratchFolder folder;
  const Segment segment = rich_segment(12, 1, 0, 2);
  write_segment(folder.path(), segment);
  const TraceReader reader(folder.path());
  const Step step = reader.read_step(12);
  const Record& record = step.records[1];
  std::vector<std::byte> piece(7 * 4);
  reader.read_values(record, 11, 7, piece);
  EXPECT_EQ(std::memcmp(piece.data(), &segment.values[1][11 * 4], piece.size()), 0);
  EXPECT_NE(std::memcmp(piece.data(), &segment.values[1][12 * 4], piece.size()), 0);
}

TEST(SegmentRoundTrip, ReadingOutsideTheValuesIsRefused) {
  const ScratchFolder folder;
  write_segment(folder.path(), rich_segment(12, 1, 0, 2));
  const TraceReader reader(folder.path());
  const Step step = reader.read_step(12);
  std::vector<std::byte> piece(8 * 4);
  EXPECT_NO_THROW(reader.read_values(step.records[1], 24, 8, piece));
  EXPECT_THAT(test::error_text([&] { reader.read_values(step.records[1], 25, 8, piece); }),
              testing::HasSubstr("outside its 32 values"));
  ASSERT_FALSE(step.records[12].has_values);
  EXPECT_THAT(test::error_text([&] { reader.read_values(step.records[12], 0, 8, piece); }),
              testing::HasSubstr("has no values of step 12 placed"));
}

TEST(SegmentRoundTrip, FactsCollectivesAndDroppedComeBack) {
  const ScratchFolder folder;
  const Segment segment = rich_segment(12, 1, 0, 2);
  write_segment(folder.path(), segment);
  const TraceReader reader(folder.path());
  ASSERT_EQ(reader.facts().size(), 1u);
  EXPECT_EQ(reader.facts_of(0), nullptr);
  const RunFacts& facts = *reader.facts_of(1);
  EXPECT_EQ(facts.rank, 1);
  EXPECT_EQ(facts.world_size, 2);
  EXPECT_EQ(facts.mesh_size, segment.facts.mesh_size);
  EXPECT_EQ(facts.mesh_coordinate, segment.facts.mesh_coordinate);
  EXPECT_EQ(facts.host, "node-7");
  EXPECT_EQ(facts.device, "cpu");
  EXPECT_EQ(facts.facts, segment.facts.facts);
  const Step step = reader.read_step(12);
  ASSERT_EQ(step.collectives.size(), 1u);
  EXPECT_TRUE(same_collective(step.collectives[0], segment.collectives[0]));
  EXPECT_EQ(step.find_collective(1, 0), 0);
  EXPECT_EQ(step.find_collective(1, 1), -1);
  Collective other = segment.collectives[0];
  other.inputs.push_back(1);
  EXPECT_FALSE(same_collective(step.collectives[0], other));
  EXPECT_THAT(step.dropped,
              testing::UnorderedElementsAre(testing::Pair("memory", 4),
                                            testing::Pair("hook_failed: bad view", 1)));
}

TEST(SegmentRoundTrip, EqualPlacementsAreStoredOnceAndShared) {
  const ScratchFolder folder;
  write_segment(folder.path(), test::plain_segment(0, 0, 0, 1, 3, 0, CutReason::kStepEnd));
  const Step step = TraceReader(folder.path()).read_step(0);
  EXPECT_EQ(step.records[0].placement, step.records[2].placement);
  write_segment(folder.path(), rich_segment(1, 0, 0, 1));
  // Records 12 and 13 are placed as replicated and as shard.
  const ScratchFolder other;
  write_segment(other.path(), rich_segment(1, 0, 0, 1));
  const Step rich = TraceReader(other.path()).read_step(1);
  EXPECT_NE(rich.records[12].placement, rich.records[13].placement);
}

TEST(SegmentRoundTrip, NothingButTheFileIsLeft) {
  const ScratchFolder folder;
  write_segment(folder.path(), rich_segment(12, 1, 3, 2));
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path())) {
    names.push_back(std::filesystem::relative(entry.path(), folder.path()).string());
  }
  EXPECT_THAT(names, testing::UnorderedElementsAre("step-000012", "step-000012/rank-00001.003.h5"));
}

TEST(SegmentRoundTrip, ContradictingSegmentIsRefused) {
  const ScratchFolder folder;
  Segment segment = rich_segment(12, 1, 0, 2);
  EXPECT_EQ(test::error_text([&] { write_segment(folder.path(), segment); }), "");
  segment.values[0].pop_back();
  EXPECT_THAT(test::error_text([&] { write_segment(folder.path(), segment); }),
              testing::AllOf(testing::HasSubstr("rank 1, step 12"),
                             testing::HasSubstr("size of its shape")));
  segment = rich_segment(12, 1, 0, 2);
  segment.records[0].where.rank = 0;
  EXPECT_THAT(test::error_text([&] { write_segment(folder.path(), segment); }),
              testing::HasSubstr("belongs to another segment"));
}

}  // namespace
}  // namespace nanhunt::trace
