// SPDX-License-Identifier: Apache-2.0
#include "cli/trace_pairs.h"

#include <gtest/gtest.h>

#include <fstream>

#include "trace/segment.h"

namespace nanhunt::cli {
namespace {

namespace fs = std::filesystem;

fs::path write_trace(const std::string& name, uint64_t digest, int64_t first_sequence) {
  const fs::path folder = fs::path(::testing::TempDir()) / name;
  fs::remove_all(folder);
  trace::Record record;
  record.what.site = "fc1";
  record.what.role = "output";
  record.where.sequence = first_sequence;
  record.local_shape = {1};
  record.placement = std::make_shared<trace::Placement>(trace::whole({"channel"}, {1}));
  record.regions.resize(1);
  record.regions[0].value_digest = digest;
  trace::Segment segment;
  segment.records = {record};
  segment.values.resize(1);
  trace::write_segment(folder, segment);
  return folder;
}

TEST(DigestDifference, HoldsDigestsAgainstEachOther) {
  const trace::TraceReader a(write_trace("digests_a", 7, 0)), b(write_trace("digests_b", 7, 0)),
      c(write_trace("digests_c", 8, 0));
  EXPECT_EQ(digest_difference(a, b), "");
  EXPECT_EQ(digest_difference(a, c),
            "step 0 fc1 forward output rank 0 microbatch -1 has another value digest");
}

TEST(FileThatHolds, SearchesAllBytes) {
  const fs::path folder = fs::path(::testing::TempDir()) / "bytes/below";
  fs::create_directories(folder);
  std::ofstream(folder / "file", std::ios::binary) << std::string("\0\1needle\0", 9);
  EXPECT_EQ(file_that_holds(folder.parent_path(), "needle"), (folder / "file").string());
  EXPECT_EQ(file_that_holds(folder.parent_path(), "haystack"), "");
  fs::remove_all(folder.parent_path());
}

}  // namespace
}  // namespace nanhunt::cli
