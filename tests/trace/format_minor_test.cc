// SPDX-License-Identifier: Apache-2.0
// Rows of another minor version: fields are found by name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/scratch_folder.h"
#include "tests/trace/example_segments.h"
#include "trace/h5_table.h"
#include "trace/segment_schema.h"
#include "trace/trace_reader.h"

namespace nanhunt::trace {
namespace {

h5::Handle int64_type() {
  return h5::Handle(H5Tcopy(H5T_STD_I64LE), H5Tclose, "copy a type");
}
h5::Handle int16_type() {
  return h5::Handle(H5Tcopy(H5T_STD_I16LE), H5Tclose, "copy a type");
}

// Replaces the table `dropped` of a written segment.
template <typename Row>
std::filesystem::path with_dropped_table(const std::filesystem::path& folder,
                                         std::span<const h5::Field> fields,
                                         const std::vector<Row>& rows) {
  write_segment(folder, test::rich_segment(0, 0, 0, 1));
  const auto path = segment_path(folder, {0, 0, 0});
  const h5::Handle file(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT), H5Fclose, "open");
  h5::check(H5Ldelete(file, "dropped", H5P_DEFAULT), "delete");
  h5::write_table(file, "dropped", fields, rows);
  return path;
}

TEST(FormatMinor, UnknownFieldsAreSkippedAndOrderIsFree) {
  struct Newer {
    int64_t added;
    int64_t count;
    uint32_t reason;
  };
  const ScratchFolder folder;
  const h5::Field fields[] = {{"added", offsetof(Newer, added), int64_type},
                              {"reason", offsetof(Newer, reason), schema::fact_fields()[0].type},
                              {"count", offsetof(Newer, count), int64_type}};
  with_dropped_table<Newer>(folder.path(), fields, {{7, 5, 0}, {7, 6, 0}});
  const Step step = TraceReader(folder.path()).read_step(0);
  EXPECT_THAT(step.dropped, testing::ElementsAre(testing::Pair("", 11)));
}

TEST(FormatMinor, MissingFieldsHaveTheirDefault) {
  struct Older {
    int64_t count;
  };
  const ScratchFolder folder;
  const h5::Field fields[] = {{"count", offsetof(Older, count), int64_type}};
  with_dropped_table<Older>(folder.path(), fields, {{5}});
  const Step step = TraceReader(folder.path()).read_step(0);
  EXPECT_THAT(step.dropped, testing::ElementsAre(testing::Pair("", 5)));
}

TEST(FormatMinor, FieldOfAnotherSizeIsRefused) {
  struct Other {
    int16_t count;
  };
  const ScratchFolder folder;
  const h5::Field fields[] = {{"count", offsetof(Other, count), int16_type}};
  const auto path = with_dropped_table<Other>(folder.path(), fields, {{5}});
  EXPECT_THAT(test::error_text([&] { TraceReader(folder.path()).read_step(0); }),
              testing::AllOf(testing::HasSubstr(path.string()),
                             testing::HasSubstr("field count of table dropped")));
}

}  // namespace
}  // namespace nanhunt::trace
