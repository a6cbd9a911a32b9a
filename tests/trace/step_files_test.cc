// SPDX-License-Identifier: Apache-2.0
// Files of a trace by their names, one step alone, and writers that meet in one file.
#include "trace/step_files.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include "tests/support/scratch_folder.h"
#include "tests/trace/example_segments.h"
#include "trace/trace_reader.h"

namespace nanhunt::trace {
namespace {

namespace fs = std::filesystem;
using test::error_text;
using test::plain_segment;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(StepFiles, StepsAreListedWithoutOpeningAFile) {
  const ScratchFolder folder;
  for (const int64_t step : {7, 3}) {
    fs::create_directories(step_folder(folder.path(), step));
    test::write_bytes(segment_path(folder.path(), {step, 0, 0}), "no segment at all");
  }
  fs::create_directories(folder.path() / "step-000009");
  test::write_bytes(folder.path() / "step-000009" / "notes.txt", "");
  EXPECT_THAT(steps_in(folder.path()), ElementsAre(3, 7));
  EXPECT_THAT(steps_in(step_folder(folder.path(), 7)), ElementsAre(7));
  EXPECT_THAT(error_text([&] { steps_in(folder.path() / "step-000009"); }),
              HasSubstr("no segment in this folder"));
}

TEST(StepFiles, AStepIsReadWhateverTheOthersAreLike) {
  const ScratchFolder folder;
  write_segment(folder.path(), plain_segment(0, 0, 0, 1, 3, 0, CutReason::kStepEnd));
  write_segment(folder.path(), plain_segment(1, 0, 0, 2, 3, 0, CutReason::kStepEnd));
  fs::create_directories(step_folder(folder.path(), 2));
  test::write_bytes(segment_path(folder.path(), {2, 0, 0}), "half");
  EXPECT_NE(error_text([&] { const TraceReader reader(folder.path()); }), "");
  for (const int64_t step : {0, 1}) {
    const TraceReader reader(step_folder(folder.path(), step));
    EXPECT_THAT(reader.steps(), ElementsAre(step));
    EXPECT_EQ(reader.world_size(), step + 1);
    EXPECT_EQ(reader.read_step(step).records.size(), 3u);
  }
}

TEST(StepFiles, TheFileOfARowIsFound) {
  const ScratchFolder folder;
  write_segment(folder.path(), plain_segment(4, 1, 0, 2, 3, 0, CutReason::kRows));
  write_segment(folder.path(), plain_segment(4, 1, 1, 2, 3, 3, CutReason::kStepEnd));
  const fs::path step = step_folder(folder.path(), 4);
  EXPECT_EQ(file_of_row(step, 4, 1, 2).filename(), "rank-00001.000.h5");
  EXPECT_EQ(file_of_row(step, 4, 1, 3).filename(), "rank-00001.001.h5");
}

// Two processes that write one rank of one step: the later one is told, and writes nothing.
TEST(StepFiles, AFileThatAnotherProcessWritesIsLeftToIt) {
  const ScratchFolder folder;
  const Segment segment = plain_segment(4, 1, 0, 2, 3, 0, CutReason::kStepEnd);
  const fs::path temporary = step_folder(folder.path(), 4) / ".rank-00001.000.h5.part";
  fs::create_directories(temporary.parent_path());
  test::write_bytes(temporary, "what the other one has written so far");
  const int other = open(temporary.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(flock(other, LOCK_EX), 0);
  EXPECT_THAT(error_text([&] { write_segment(folder.path(), segment); }),
              testing::AllOf(HasSubstr("(rank 1, step 4): another process is writing it"),
                             HasSubstr("two runs in one folder")));
  EXPECT_FALSE(fs::exists(segment_path(folder.path(), {4, 1, 0})));
  EXPECT_EQ(test::read_bytes(temporary), "what the other one has written so far");
  close(other);  // it was killed: what it left is in nobody's way
  write_segment(folder.path(), segment);
  EXPECT_EQ(TraceReader(folder.path()).read_step(4).records.size(), 3u);
}

}  // namespace
}  // namespace nanhunt::trace
