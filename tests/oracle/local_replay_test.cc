// SPDX-License-Identifier: Apache-2.0
// Records that would take more memory than replay may have are left out, and said.
#include "oracle/replay/local_replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/compare/trace_builder.h"
#include "tests/support/scratch_folder.h"

namespace nanhunt::oracle::test {
namespace {

using compare::test::copies;
using compare::test::TraceBuilder;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// softmax of `rows` x 4 values, one of which is wrong; nothing is read where it is left out, so the
// claimed size needs no values of that size.
LocalReplay replay_of(int64_t claimed_rows) {
  TraceBuilder builder;
  const auto given = builder.add({.site = "before"}, {1, 2, 3, 4}, copies({1, 1, 4}));
  builder.add({.site = "act", .links = {given}, .op = "softmax"}, {9, 2, 3, 4}, copies({1, 1, 4}));
  const ScratchFolder folder;
  builder.write(folder.path());
  const trace::TraceReader reader(folder.path());
  trace::Step step = reader.read_step(0);
  for (auto& record : step.records) record.local_shape[1] = claimed_rows;
  const auto thresholds = compare::test::thresholds();
  return replay_step({step, nullptr, &reader, reader.facts(), thresholds});
}

TEST(ReplayBytes, ARecordThatIsTooLargeIsLeftOutAndSaid) {
  const LocalReplay result = replay_of(int64_t{1} << 30);
  EXPECT_THAT(result.findings, IsEmpty());
  ASSERT_THAT(result.not_replayed, SizeIs(1));
  EXPECT_THAT(result.not_replayed.begin()->first, HasSubstr("takes more than 8 GiB"));
  // Must fail: the same record at its true size.
  EXPECT_THAT(replay_of(1).findings, SizeIs(1));
}

}  // namespace
}  // namespace nanhunt::oracle::test
