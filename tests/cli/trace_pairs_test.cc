// SPDX-License-Identifier: Apache-2.0
#include "cli/trace_pairs.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/scratch_folder.h"
#include "trace/segment.h"

namespace nanhunt::cli {
namespace {

namespace fs = std::filesystem;

fs::path write_trace(const fs::path& folder, uint64_t digest, int64_t first_sequence) {
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
  const ScratchFolder folder;
  const trace::TraceReader a(write_trace(folder / "a", 7, 0)), b(write_trace(folder / "b", 7, 0)),
      c(write_trace(folder / "c", 8, 0));
  EXPECT_EQ(digest_difference(a, b), "");
  EXPECT_EQ(digest_difference(a, c),
            "step 0 fc1 forward output rank 0 microbatch -1 has another value digest");
}

TEST(FileThatHolds, SearchesAllBytes) {
  const ScratchFolder scratch;
  const fs::path folder = scratch / "below";
  fs::create_directories(folder);
  std::ofstream(folder / "file", std::ios::binary) << std::string("\0\1needle\0", 9);
  EXPECT_EQ(file_that_holds(scratch.path(), "needle"), (folder / "file").string());
  EXPECT_EQ(file_that_holds(scratch.path(), "haystack"), "");
}

}  // namespace
}  // namespace nanhunt::cli
