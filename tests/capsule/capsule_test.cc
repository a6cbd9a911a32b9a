// SPDX-License-Identifier: Apache-2.0
// What a reader says of capsules that are whole, and of those that are not.
#include "capsule/capsule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/capsule/small_capsule.h"
#include "tests/support/scratch_folder.h"
#include "trace/error.h"

namespace nanhunt::capsule::test {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr Layout kLayout{.tp = 2, .dp = 2};

std::vector<std::string> faults_of(const fs::path& folder, int64_t step = -1) {
  std::vector<std::string> texts;
  const Capsule capsule(folder, step);
  for (const Fault& fault : capsule.faults()) texts.push_back(fault.what);
  return texts;
}

std::string error_of(const fs::path& folder, int64_t step = -1) {
  try {
    Capsule(folder, step).require_whole();
  } catch (const trace::Error& error) {
    EXPECT_EQ(error.kind(), trace::ErrorKind::kUnreadable);
    return error.what();
  }
  return "";
}

fs::path file_of(const fs::path& folder, int64_t step, int32_t rank) {
  return trace::segment_path(folder, {step, rank, 0});
}

class Capsules : public testing::Test {
 protected:
  ScratchFolder folder_;
  const fs::path& path() const { return folder_.path(); }
};

TEST_F(Capsules, AWholeOneHasNoFault) {
  write_capsule(path(), kLayout, 4);
  const Capsule capsule(path());
  EXPECT_EQ(capsule.step().step, 4);
  EXPECT_THAT(faults_of(path()), IsEmpty());
  EXPECT_NE(capsule.find("optimizer", "step"), nullptr);
  EXPECT_EQ(capsule.find("optimizer", "stop"), nullptr);
  EXPECT_EQ(capsule.find("decoder.layers.0.mlp.linear_fc1.weight", "master")->records.size(), 4u);
}

TEST_F(Capsules, TheNewestThatEveryRankEndedIsTaken) {
  write_capsule(path(), kLayout, 4);
  write_capsule(path(), kLayout, 6);
  fs::remove(file_of(path(), 6, 3));
  EXPECT_EQ(Capsule(path()).step().step, 4);
  EXPECT_EQ(ended_steps(path()), std::vector<int64_t>{4});
  EXPECT_THAT(error_of(path(), 6), HasSubstr("rank 3 has no file"));
}

TEST_F(Capsules, AStepThatIsNotThereIsNamed) {
  write_capsule(path(), kLayout, 4);
  EXPECT_THAT(error_of(path(), 5), HasSubstr("no step 5"));
  EXPECT_THAT(error_of(path() / "elsewhere"), HasSubstr("no such folder"));
}

TEST_F(Capsules, ATraceOfTrainingIsNone) {
  write_capsule(path(), kLayout, 4, [](trace::Segment& segment) {
    for (auto& record : segment.records) record.what.phase = trace::Phase::kForward;
  });
  EXPECT_THAT(error_of(path()), HasSubstr("holds no state"));
}

TEST_F(Capsules, ARankThatDidNotEndTheStepIsNamed) {
  write_capsule(path(), kLayout, 4, [](trace::Segment& segment) {
    if (segment.rank != 2) return;
    segment.cut = trace::CutReason::kSignal;
    segment.cut_detail = "SIGTERM";
  });
  EXPECT_THAT(faults_of(path()), Contains(HasSubstr("rank 2")));
}

TEST_F(Capsules, ATruncatedFileIsNamed) {
  write_capsule(path(), kLayout, 4);
  fs::resize_file(file_of(path(), 4, 1), fs::file_size(file_of(path(), 4, 1)) / 2);
  EXPECT_THAT(error_of(path()), HasSubstr(file_of(path(), 4, 1).filename().string()));
}

TEST_F(Capsules, CopiesThatDifferAreNamed) {
  write_capsule(path(), kLayout, 4, [](trace::Segment& segment) {
    if (segment.rank != 3) return;
    const size_t i = index_of(segment, "weight", "master");
    segment.values[i][5] ^= std::byte{1};
    print_again(segment, i);
  });
  EXPECT_THAT(faults_of(path()),
              Contains(HasSubstr("weight master: ranks 1 and 3 have copies of it that differ")));
}

TEST_F(Capsules, TwoWritersAreNamed) {
  write_capsule(path(), kLayout, 4, [](trace::Segment& segment) {
    if (segment.rank != 1) return;
    const size_t i = index_of(segment, "capsule", "run");
    segment.values[i][0] ^= std::byte{1};
    print_again(segment, i);
  });
  EXPECT_THAT(faults_of(path()), Contains(HasSubstr("ranks 0 and 1 were written by two runs")));
}

TEST_F(Capsules, AHoleIsNamed) {
  write_capsule(path(), kLayout, 4, [](trace::Segment& segment) {
    if (segment.rank % 2 != 1) return;
    const size_t i = index_of(segment, "weight", "exp_avg");
    segment.records.erase(segment.records.begin() + static_cast<std::ptrdiff_t>(i));
    segment.values.erase(segment.values.begin() + static_cast<std::ptrdiff_t>(i));
  });
  EXPECT_THAT(faults_of(path()),
              Contains(HasSubstr("weight exp_avg: 48 of 96 elements are in no region")));
}

TEST_F(Capsules, ValuesThatWereLeftOutAreNamed) {
  write_capsule(path(), kLayout, 4, [](trace::Segment& segment) {
    if (segment.rank != 0) return;
    const size_t i = index_of(segment, "weight", "exp_avg_sq");
    segment.records[i].has_values = false;
    segment.values[i].clear();
    segment.dropped = {{"memory", 1}};
  });
  EXPECT_THAT(faults_of(path()), Contains(HasSubstr("exp_avg_sq: rank 0 has no values")));
  EXPECT_THAT(faults_of(path()), Contains(HasSubstr("left out 1: memory")));
}

TEST_F(Capsules, ShapesThatDisagreeAreNamed) {
  write_capsule(path(), kLayout, 4, [](trace::Segment& segment) {
    if (segment.rank != 2) return;
    const size_t i = index_of(segment, "bias", "param");
    segment.records[i].placement =
        std::make_shared<const trace::Placement>(trace::whole({"out"}, {kRows / 2}));
    segment.records[i].local_shape = {kRows / 2};
    segment.values[i].resize(static_cast<size_t>(kRows / 2) * sizeof(float));
    print_again(segment, i);
  });
  EXPECT_THAT(faults_of(path()), Contains(HasSubstr("bias param: ranks 0 and 2 disagree")));
}

TEST_F(Capsules, StreamsOfRanksMayDiffer) {
  write_capsule(path(), kLayout, 4);  // each rank has its own
  EXPECT_EQ(error_of(path()), "");
}

}  // namespace
}  // namespace nanhunt::capsule::test
