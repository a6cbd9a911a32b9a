// SPDX-License-Identifier: Apache-2.0
// A disk that fills up while a segment is written, at each possible place: an error in our words,
// no file under either name, no text by HDF5, also none when the program ends.
//
// A limit on the size of files stands for the full disk: the kernel refuses the write in the same
// way, and the place is exact.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/scratch_folder.h"
#include "tests/trace/example_segments.h"
#include "tests/trace/file_size_limit.h"
#include "trace/trace_reader.h"

namespace nanhunt::trace {
namespace {

namespace fs = std::filesystem;
using test::error_text;
using test::FileSizeLimit;

std::string limited_write(const fs::path& folder, const Segment& segment, rlim_t bytes) {
  const FileSizeLimit limit(bytes);
  return error_text([&] { write_segment(folder, segment); });
}

size_t count_files(const fs::path& folder) {
  size_t count = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    count += entry.is_regular_file() ? 1u : 0u;
  }
  return count;
}

TEST(FullDisk, NothingIsLeftWhereverItFills) {
  const ScratchFolder folder;
  const Segment segment = test::rich_segment(12, 3, 0, 4);
  write_segment(folder.path(), segment);
  const fs::path path = segment_path(folder.path(), {12, 3, 0});
  const auto size = static_cast<rlim_t>(fs::file_size(path));
  fs::remove(path);
  const std::string expected =
      "cannot write " + path.string() + " (rank 3, step 12): File too large";
  for (rlim_t bytes = 0; bytes < size; bytes += 997) {
    testing::internal::CaptureStderr();
    const std::string text = limited_write(folder.path(), segment, bytes);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    EXPECT_EQ(text, expected) << bytes;
    EXPECT_EQ(count_files(folder.path()), 0u) << bytes;
  }
  EXPECT_EQ(limited_write(folder.path(), segment, size - 1), expected);
  // The twin: the writer works after all the failures. HDF5 may write a little beyond the final
  // end.
  EXPECT_EQ(limited_write(folder.path(), segment, size + (1 << 16)), "");
  EXPECT_EQ(TraceReader(folder.path()).read_step(12).records.size(), segment.records.size());
}

TEST(FullDisk, LargeValuesFailInTheSameWay) {
  const ScratchFolder folder;
  Segment segment = test::plain_segment(0, 0, 0, 1, 2, 0, CutReason::kStepEnd);
  for (Record& record : segment.records) {
    record.local_shape = {1024, 1024};
    record.has_values = true;
    segment.values.push_back(test::pattern_bytes(4 << 20, 1));
  }
  EXPECT_THAT(limited_write(folder.path(), segment, 5 << 20), testing::HasSubstr("File too large"));
  EXPECT_EQ(count_files(folder.path()), 0u);
  EXPECT_EQ(limited_write(folder.path(), segment, 9 << 20), "");
}

TEST(FullDisk, NothingIsPrintedAtExit) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        const ScratchFolder folder;
        const std::string text = limited_write(folder.path(), test::rich_segment(1, 0, 0, 1), 3000);
        std::exit(text.empty() ? 1 : 0);
      },
      testing::ExitedWithCode(0), "^$");
}

// /dev/full stands for the real reason, a device without space.
TEST(FullDisk, ReasonIsThatOfTheSystem) {
  const ScratchFolder folder;
  const Segment segment = test::rich_segment(12, 3, 0, 4);
  const fs::path path = segment_path(folder.path(), {12, 3, 0});
  fs::create_directories(path.parent_path());
  fs::create_symlink("/dev/full", path.parent_path() / ".rank-00003.000.h5.part");
  EXPECT_THAT(error_text([&] { write_segment(folder.path(), segment); }),
              testing::EndsWith("(rank 3, step 12): No space left on device"));
  EXPECT_EQ(count_files(folder.path()), 0u);
  EXPECT_EQ(error_text([&] { write_segment(folder.path(), segment); }), "");
}

TEST(FullDisk, FolderThatCannotBeMadeIsNamed) {
  const ScratchFolder folder;
  test::write_bytes(folder.path() / "step-000012", "in the way");
  EXPECT_THAT(error_text([&] { write_segment(folder.path(), test::rich_segment(12, 3, 0, 4)); }),
              testing::HasSubstr("(rank 3, step 12): "));
  EXPECT_EQ(error_text([&] { write_segment(folder.path(), test::rich_segment(13, 3, 0, 4)); }), "");
}

}  // namespace
}  // namespace nanhunt::trace
