// SPDX-License-Identifier: Apache-2.0
// Files that are not what was written: a changed byte, segments of two runs in one rank, another
// layout's files beside. Never another state that looks whole.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>

#include "capsule/load.h"
#include "capsule/verify.h"
#include "tests/capsule/small_capsule.h"
#include "tests/support/scratch_folder.h"
#include "trace/error.h"
#include "trace/step_files.h"
#include "trace/tiling.h"

namespace nanhunt::capsule::test {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr Layout kLayout{.tp = 2, .dp = 2};

std::string bytes_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write(const fs::path& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary) << bytes;
}

std::string error_of(const std::function<void()>& deed) {
  try {
    deed();
  } catch (const trace::Error& error) {
    EXPECT_EQ(error.kind(), trace::ErrorKind::kUnreadable) << error.what();
    return error.what();
  }
  return "";
}

// What somebody who loads it gets: each tensor, in logical order, by name.
std::map<std::string, std::vector<std::byte>> state_of(const Capsule& capsule) {
  std::map<std::string, std::vector<std::byte>> state;
  for (const Entry& entry : capsule.entries()) {
    const auto& record = capsule.step().records[static_cast<size_t>(entry.records.front())];
    const auto& shape = record.placement->logical_shape;
    const Wanted wanted{entry.site, entry.role, record.storage, shape,
                        std::make_shared<const trace::Placement>(
                            trace::whole(std::vector<std::string>(shape.size()), shape))};
    const Plan plan = plan_load(capsule, {wanted}, 0, true);
    auto& bytes = state[name_of(entry)];
    bytes.resize(static_cast<size_t>(trace::elements_in(shape)) * trace::size_of(record.storage));
    load(capsule, wanted, plan.tensors[0], bytes);
  }
  return state;
}

// Wherever a byte of the file flips, in tables, names or values: an error, a fault, or what is
// loaded is what was written. NANHUNT_EVERY_BYTE looks at each; the test at some hundred.
TEST(Damage, AFlippedByteNeverMakesAnotherState) {
  const ScratchFolder folder;
  write_capsule(folder.path(), {}, 4);
  const fs::path file = trace::segment_path(folder.path(), {4, 0, 0});
  const std::string whole = bytes_of(file);
  const auto state = state_of(Capsule(folder.path()));
  const size_t stride = std::getenv("NANHUNT_EVERY_BYTE") != nullptr ? 1 : 97;
  int told = 0, harmless = 0;
  for (size_t i = 0; i < whole.size(); i += stride) {
    std::string bad = whole;
    bad[i] = static_cast<char>(bad[i] ^ (1 << (i % 8)));
    write(file, bad);
    bool same = false;
    const std::string error = error_of([&] {
      const Capsule capsule(folder.path());
      capsule.require_whole();
      require_undamaged(capsule);
      same = state_of(capsule) == state;
    });
    EXPECT_TRUE(same || !error.empty()) << "byte " << i;
    (error.empty() ? harmless : told) += 1;
  }
  EXPECT_GT(told, 100);
  EXPECT_GT(harmless, 0);  // sums, sketches, facts, room that nothing uses
  write(file, whole);
  const Capsule again(folder.path());
  EXPECT_EQ(state_of(again), state);
  EXPECT_THAT(damaged_values(again), IsEmpty());
}

TEST(Damage, AFlippedValueIsNamedWithItsFile) {
  const ScratchFolder folder;
  write_capsule(folder.path(), kLayout, 4);
  const fs::path file = trace::segment_path(folder.path(), {4, 1, 0});
  std::string bytes = bytes_of(file);
  const auto piece = piece_of(kLayout, 1, "exp_avg");
  const std::string values(reinterpret_cast<const char*>(piece.data()),
                           piece.size() * sizeof(float));
  ASSERT_NE(bytes.find(values), std::string::npos);
  bytes[bytes.find(values) + 5] ^= 4;
  write(file, bytes);
  const Capsule capsule(folder.path());
  EXPECT_THAT(capsule.faults(), IsEmpty());  // it takes reading the values
  const auto faults = damaged_values(capsule);
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_THAT(faults[0].what,
              HasSubstr("linear_fc1.weight exp_avg (rank 1, step 4) in " + file.string() +
                        ": the values are not those that were written"));
}

// Segments 0 of one run and 1 of another, cut at the same row.
void write_in_two_segments(const fs::path& folder, const std::string& second_run) {
  write_capsule(folder, {}, 4, [&](trace::Segment& segment) {
    trace::Segment rest = segment;
    const auto half = static_cast<std::ptrdiff_t>(segment.records.size() / 2);
    segment.records.erase(segment.records.begin() + half, segment.records.end());
    segment.values.erase(segment.values.begin() + half, segment.values.end());
    segment.cut = trace::CutReason::kRows;
    segment.facts.facts[trace::kRunFact] = "77";
    rest.records.erase(rest.records.begin(), rest.records.begin() + half);
    rest.values.erase(rest.values.begin(), rest.values.begin() + half);
    rest.index = 1;
    rest.facts.facts[trace::kRunFact] = second_run;
    trace::write_segment(folder, rest);
  });
}

TEST(Damage, TwoRunsInOneRankAreRefused) {
  const ScratchFolder mixed, whole;
  write_in_two_segments(mixed.path(), "78");
  EXPECT_THAT(
      error_of([&] { const Capsule capsule(mixed.path()); }),
      testing::AllOf(HasSubstr("rank-00000.001.h5"), HasSubstr("two runs wrote this rank")));
  write_in_two_segments(whole.path(), "77");
  EXPECT_THAT(Capsule(whole.path()).faults(), IsEmpty());
}

TEST(Damage, ACopyUnderAnotherRanksNameIsRefused) {
  const ScratchFolder folder;
  write_capsule(folder.path(), kLayout, 4);
  fs::copy_file(trace::segment_path(folder.path(), {4, 0, 0}),
                trace::segment_path(folder.path(), {4, 1, 0}),
                fs::copy_options::overwrite_existing);
  EXPECT_THAT(error_of([&] { const Capsule capsule(folder.path()); }),
              HasSubstr("rank-00001.000.h5 (rank 1, step 4): the file says rank 0"));
  fs::remove(trace::segment_path(folder.path(), {4, 1, 0}));
  fs::copy_file(trace::segment_path(folder.path(), {4, 0, 0}),
                trace::segment_path(folder.path(), {4, 0, 1}));
  EXPECT_THAT(
      error_of([&] { const Capsule capsule(folder.path()); }),
      HasSubstr("rank-00000.001.h5 (rank 0, step 4): the file says rank 0, step 4, segment 0"));
}

// A rank's tensors once more in a further segment that says it is one.
TEST(Damage, AShardThatIsThereTwiceIsRefused) {
  const ScratchFolder folder;
  write_capsule(folder.path(), kLayout, 4, [&](trace::Segment& segment) {
    if (segment.rank != 2) return;
    trace::Segment again = segment;
    again.index = 1;
    trace::write_segment(folder.path(), again);
  });
  EXPECT_THAT(error_of([&] { const Capsule capsule(folder.path()); }),
              HasSubstr("of rank 2 occurs twice in step 4"));
}

// A run that went on in another layout writes into the same folder.
TEST(Damage, StepsOfTwoLayoutsAreTwoCapsules) {
  const ScratchFolder folder;
  write_capsule(folder.path(), kLayout, 4);
  write_capsule(folder.path(), {.tp = 2}, 6);
  EXPECT_THAT(Capsule(folder.path(), 4).faults(), IsEmpty());
  EXPECT_EQ(Capsule(folder.path(), 4).reader().world_size(), 4);
  EXPECT_EQ(Capsule(folder.path()).reader().world_size(), 2);
  EXPECT_EQ(ended_steps(folder.path()), (std::vector<int64_t>{4, 6}));
  fs::resize_file(trace::segment_path(folder.path(), {6, 1, 0}), 900);
  EXPECT_THAT(Capsule(folder.path(), 4).faults(), IsEmpty());
  EXPECT_THAT(error_of([&] { const Capsule capsule(folder.path()); }),
              HasSubstr("rank-00001.000.h5 (rank 1, step 6): truncated"));
}

TEST(Damage, RowsThatContradictThemselvesAreFaults) {
  const auto fault = [](const Edit& edit) {
    const ScratchFolder folder;
    write_capsule(folder.path(), kLayout, 4, edit);
    const Capsule capsule(folder.path());
    EXPECT_THAT(damaged_values(capsule), IsEmpty());  // it is not read
    return capsule.faults().empty() ? "" : capsule.faults().front().what;
  };
  EXPECT_EQ(fault({}), "");
  EXPECT_THAT(fault([](trace::Segment& segment) {
                trace::Placement moved = *segment.records[1].placement;
                moved.regions[0].local_start[0] = kRows;
                segment.records[1].placement = std::make_shared<const trace::Placement>(moved);
              }),
              HasSubstr("weight param: rank 0: "));
  EXPECT_THAT(fault([](trace::Segment& segment) { segment.records[1].regions.clear(); }),
              HasSubstr("digests of other regions"));
  EXPECT_THAT(fault([](trace::Segment& segment) { segment.records[1].placement = nullptr; }),
              HasSubstr("does not say what part of it it has"));
}

}  // namespace
}  // namespace nanhunt::capsule::test
