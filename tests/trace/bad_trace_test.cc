// SPDX-License-Identifier: Apache-2.0
// Folders and files that are no good trace: each is named with its fault, in our words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hdf5.h>

#include "tests/support/scratch_folder.h"
#include "tests/trace/example_segments.h"
#include "trace/trace_reader.h"

namespace nanhunt::trace {
namespace {

namespace fs = std::filesystem;
using test::error_text;
using test::plain_segment;
using test::read_bytes;
using test::write_bytes;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// What opening says; text that HDF5 printed comes first, and must not be there.
std::string open_error(const fs::path& folder) {
  testing::internal::CaptureStderr();
  const std::string text = error_text([&] { const TraceReader reader(folder); });
  return testing::internal::GetCapturedStderr() + text;
}

fs::path good_file(const fs::path& folder) {
  write_segment(folder, test::rich_segment(12, 3, 0, 4));
  return segment_path(folder, {12, 3, 0});
}

// Overwrites the attribute `version` of a good file.
void set_version(const fs::path& path, int32_t major, int32_t minor) {
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  const hid_t attribute = H5Aopen(file, "version", H5P_DEFAULT);
  const int32_t version[] = {major, minor};
  ASSERT_GE(H5Awrite(attribute, H5T_NATIVE_INT32, version), 0);
  H5Aclose(attribute);
  H5Fclose(file);
}

TEST(BadTrace, NoFolderNoSegmentNotAFolder) {
  const ScratchFolder folder;
  EXPECT_THAT(open_error(folder.path() / "none"), HasSubstr("no such folder"));
  EXPECT_THAT(open_error(folder.path()), HasSubstr("no segment in this folder"));
  write_bytes(folder.path() / "file", "x");
  EXPECT_THAT(open_error(folder.path() / "file"), HasSubstr("not a folder"));
  good_file(folder.path());
  EXPECT_EQ(open_error(folder.path()), "");
}

TEST(BadTrace, TruncatedFileIsNamedAtEachLength) {
  const ScratchFolder folder;
  const fs::path path = good_file(folder.path());
  const std::string bytes = read_bytes(path);
  for (const size_t length : {size_t{0}, size_t{5}, size_t{8}, size_t{47}, size_t{48}, size_t{800},
                              bytes.size() / 2, bytes.size() - 1}) {
    write_bytes(path, bytes.substr(0, length));
    EXPECT_THAT(open_error(folder.path()),
                AllOf(HasSubstr("cannot read " + path.string() + " (rank 3, step 12): truncated"),
                      Not(HasSubstr("HDF5"))))
        << length;
  }
  write_bytes(path, bytes);
  EXPECT_EQ(open_error(folder.path()), "");
}

TEST(BadTrace, DamagedMetadataIsNamed) {
  const ScratchFolder folder;
  const fs::path path = good_file(folder.path());
  std::string bytes = read_bytes(path);
  bytes[40] = static_cast<char>(bytes[40] ^ 0x55);  // inside the superblock, under its checksum
  write_bytes(path, bytes);
  EXPECT_THAT(open_error(folder.path()),
              AllOf(HasSubstr("(rank 3, step 12)"), HasSubstr("the file is damaged")));
}

TEST(BadTrace, ForeignFilesAreNamed) {
  const ScratchFolder folder;
  const fs::path path = good_file(folder.path());
  write_bytes(path, "step,loss\n1,3.5\n" + std::string(100, 'x'));
  EXPECT_THAT(open_error(folder.path()), HasSubstr("(rank 3, step 12): not an HDF5 file"));
  fs::remove(path);
  H5Fclose(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
  EXPECT_THAT(open_error(folder.path()), HasSubstr("not a trace segment of nanhunt"));
}

TEST(BadTrace, NewerMajorIsRefusedNewerMinorIsRead) {
  const ScratchFolder folder;
  const fs::path path = good_file(folder.path());
  set_version(path, kFormatMajor + 1, 4);
  EXPECT_THAT(open_error(folder.path()),
              AllOf(HasSubstr(path.string()), HasSubstr("format version 2.4 is newer"),
                    HasSubstr("use a newer nanhunt")));
  set_version(path, kFormatMajor, kFormatMinor + 7);
  EXPECT_EQ(open_error(folder.path()), "");
}

TEST(BadTrace, RenamedSegmentIsRefused) {
  const ScratchFolder folder;
  const fs::path path = good_file(folder.path());
  fs::rename(path, segment_path(folder.path(), {12, 1, 0}));
  EXPECT_THAT(open_error(folder.path()), HasSubstr("the file says rank 3, step 12, segment 0"));
}

TEST(BadTrace, ContradictingRunsAreRefused) {
  const ScratchFolder sizes, meshes, coordinates, outside;
  write_segment(sizes.path(), plain_segment(0, 0, 0, 2, 1, 0, CutReason::kStepEnd));
  write_segment(sizes.path(), plain_segment(0, 1, 0, 2, 1, 0, CutReason::kStepEnd));
  EXPECT_EQ(open_error(sizes.path()), "");
  write_segment(sizes.path(), plain_segment(1, 1, 0, 4, 1, 0, CutReason::kStepEnd));
  EXPECT_THAT(open_error(sizes.path()),
              AllOf(HasSubstr("world size 4 against 2"), HasSubstr("step-000001/rank-00001"),
                    HasSubstr("two runs in one folder")));

  write_segment(meshes.path(), plain_segment(0, 0, 0, 2, 1, 0, CutReason::kStepEnd));
  Segment other = plain_segment(0, 1, 0, 2, 1, 0, CutReason::kStepEnd);
  other.facts.mesh_size[0] = 2;
  write_segment(meshes.path(), other);
  EXPECT_THAT(open_error(meshes.path()), HasSubstr("another mesh;"));

  write_segment(coordinates.path(), plain_segment(0, 1, 0, 2, 1, 0, CutReason::kStepEnd));
  other = plain_segment(1, 1, 0, 2, 1, 0, CutReason::kStepEnd);
  other.facts.mesh_coordinate[3] = 1;
  write_segment(coordinates.path(), other);
  EXPECT_THAT(open_error(coordinates.path()), HasSubstr("another mesh coordinate"));

  write_segment(outside.path(), plain_segment(0, 2, 0, 2, 1, 0, CutReason::kStepEnd));
  EXPECT_THAT(open_error(outside.path()), HasSubstr("rank 2 is outside its world size 2"));
}

TEST(BadTrace, TemporaryNamesAreIgnored) {
  const ScratchFolder folder;
  const fs::path path = good_file(folder.path());
  write_bytes(path.parent_path() / ".rank-00002.000.h5.part", "half");
  write_bytes(folder.path() / "notes.txt", "text");
  EXPECT_EQ(open_error(folder.path()), "");
  EXPECT_FALSE(TraceReader(folder.path()).progress(12)[2].present);
  write_bytes(segment_path(folder.path(), {12, 2, 0}), "half");
  EXPECT_THAT(open_error(folder.path()), HasSubstr("rank 2, step 12"));
}

TEST(BadTrace, MissingTableIsNamed) {
  const ScratchFolder folder;
  const fs::path path = good_file(folder.path());
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  ASSERT_GE(H5Ldelete(file, "links", H5P_DEFAULT), 0);
  H5Fclose(file);
  const TraceReader reader(folder.path());
  testing::internal::CaptureStderr();
  EXPECT_THAT(error_text([&] { reader.read_step(12); }),
              AllOf(HasSubstr("(rank 3, step 12)"), HasSubstr("cannot open table links")));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace nanhunt::trace
