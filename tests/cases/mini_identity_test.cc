// SPDX-License-Identifier: Apache-2.0
// Settings that must not change a bit, and that the comparison would see one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "tests/cases/mini_run.h"
#include "tests/support/scratch_folder.h"

namespace nanhunt::mini {
namespace {

// Rank, microbatch, site, phase, role, occurrence.
using Key = std::tuple<int, int, std::string, trace::Phase, std::string, int>;
using Digests = std::map<Key, uint64_t>;

struct Captured {
  Digests raw;    // local bits
  Digests value;  // canonical values by logical index
};

Captured captured(const MiniRun& run, int64_t step) {
  const ScratchFolder folder;
  const MiniResult result = run_mini(run, folder.path());
  EXPECT_EQ(result.status, 0) << result.output;
  Captured all;
  const trace::TraceReader reader(folder.path());
  for (const trace::Record& record : reader.read_step(step).records) {
    const Key key{record.where.rank, record.where.microbatch, record.what.site,
                  record.what.phase, record.what.role,        record.what.occurrence};
    all.raw[key] = record.raw_digest;
    for (const trace::RegionPrint& print : record.regions) all.value[key] += print.value_digest;
  }
  EXPECT_GT(all.raw.size(), 200u);
  return all;
}

constexpr char kTwoByTwo[] = "--tp 2 --dp 2 --microbatches 2 --sp on --steps 3 --layers 2";

MiniRun run_of(const std::string& arguments, const std::string& fault = "") {
  return {arguments, fault, trace::Level::kStats};
}

TEST(MiniIdentity, ThreadsAndProcesses) {
  const auto threads = captured(run_of(kTwoByTwo), 2).raw;
  const auto processes = captured(run_of(std::string(kTwoByTwo) + " --ranks processes"), 2).raw;
  EXPECT_TRUE(threads == processes);
  const auto other = captured(run_of(std::string(kTwoByTwo) + " --seed 2"), 2).raw;
  EXPECT_FALSE(threads == other);
}

TEST(MiniIdentity, OverlapOnAndOff) {
  const std::string on = std::string(kTwoByTwo) + " --overlap-grad-reduce on";
  const auto off = captured(run_of(kTwoByTwo), 2).raw;
  EXPECT_TRUE(off == captured(run_of(on), 2).raw);
  const std::string race = R"({"name": "bucket_read_early", "layer": 1, "rank": 3, "element": 2})";
  EXPECT_TRUE(off == captured(run_of(kTwoByTwo, race), 2).raw);
  EXPECT_FALSE(off == captured(run_of(on, race), 2).raw);
}

TEST(MiniIdentity, ReadingABucketEarlyGivesTheSameEachTime) {
  const MiniRun race =
      run_of(std::string(kTwoByTwo) + " --overlap-grad-reduce on",
             R"({"name": "bucket_read_early", "layer": 0, "rank": 1, "element": 1})");
  const auto first = captured(race, 0).raw;
  EXPECT_TRUE(first == captured(race, 0).raw);
  // The drawn rank goes on with its own share; its replica does not.
  const std::string site = "decoder.layers.0.self_attention.linear_proj.weight";
  const auto at = [&](int rank, trace::Phase phase) {
    return first.at({rank, -1, site, phase, "main_grad", 0});
  };
  EXPECT_EQ(at(1, trace::Phase::kPostCollective), at(1, trace::Phase::kPreCollective));
  EXPECT_NE(at(3, trace::Phase::kPostCollective), at(3, trace::Phase::kPreCollective));
}

// Values of the forward pass by logical position, rank and microbatch.
Digests forward_of(const Captured& all) {
  Digests forward;
  for (const auto& [key, digest] : all.value) {
    const trace::Phase phase = std::get<3>(key);
    if (phase == trace::Phase::kForward || phase == trace::Phase::kLoss) forward[key] = digest;
  }
  return forward;
}

TEST(MiniIdentity, BatchFirstForward) {
  const auto off = forward_of(captured(run_of("--tp 2 --steps 1"), 0));
  EXPECT_TRUE(off == forward_of(captured(run_of("--tp 2 --steps 1 --batch-first on"), 0)));
  EXPECT_FALSE(off == forward_of(captured(run_of("--tp 2 --steps 1 --fp8 on"), 0)));
}

TEST(MiniIdentity, NoFaultNameInATrace) {
  const ScratchFolder folder;
  const MiniRun run = run_of("--tp 2 --steps 1", R"({"name": "rows_swapped", "layer": 1})");
  ASSERT_EQ(run_mini(run, folder.path()).status, 0);
  const std::string command = "grep -rqa rows_swapped " + folder.path().string();
  EXPECT_NE(std::system(command.c_str()), 0);
  EXPECT_EQ(std::system(("grep -rqa linear_proj " + folder.path().string()).c_str()), 0);
}

}  // namespace
}  // namespace nanhunt::mini
