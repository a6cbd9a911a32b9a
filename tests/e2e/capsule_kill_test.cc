// SPDX-License-Identifier: Apache-2.0
// A run that writes capsules is killed at a random moment, all of its ranks or one: the reader says
// which capsules are whole and what the others lack, and a run goes on from the newest whole one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <random>
#include <sstream>
#include <thread>

#include "capsule/load.h"
#include "tests/e2e/program.h"
#include "tests/support/scratch_folder.h"
#include "trace/error.h"
#include "trace/tiling.h"

namespace nanhunt::e2e {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

#ifdef NANHUNT_E2E_ALL
constexpr int kMoments = 50;
#else
constexpr int kMoments = 4;
#endif

// The subject over four rank processes, with a capsule before each step; more steps than anybody
// waits for.
std::vector<std::string> words(const fs::path& capsules, int steps) {
  return {(build_folder() / "cases/mini/mini").string(),
          "--layers=2",
          "--tp=2",
          "--dp=2",
          "--ranks=processes",
          "--steps=" + std::to_string(steps),
          "--capsules=" + capsules.string()};
}

bool reached(const Program& run, int step) {
  const std::string line = "step " + std::to_string(step) + " ";
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (std::chrono::steady_clock::now() < end) {
    if (run.output_so_far().find(line) != std::string::npos) return true;
    std::this_thread::sleep_for(milliseconds(1));
  }
  return false;
}

std::vector<pid_t> rank_processes(pid_t launcher) {
  const std::string id = std::to_string(launcher);
  std::vector<pid_t> ranks;
  std::istringstream children(read("/proc/" + id + "/task/" + id + "/children"));
  for (std::string child; children >> child;) ranks.push_back(std::stoi(child));
  return ranks;
}

// Reads every value of the capsule against its digest.
void load_all(const capsule::Capsule& capsule) {
  for (const capsule::Entry& entry : capsule.entries()) {
    const auto& record = capsule.step().records[static_cast<size_t>(entry.records.front())];
    const capsule::Wanted wanted{entry.site, entry.role, record.storage, record.local_shape,
                                 record.placement};
    const auto plan = capsule::plan_load(capsule, {wanted}, record.where.rank, true);
    ASSERT_THAT(plan.obstacles(), IsEmpty());
    std::vector<std::byte> bytes(static_cast<size_t>(trace::elements_in(record.local_shape)) *
                                 trace::size_of(record.storage));
    capsule::load(capsule, wanted, plan.tensors[0], bytes);
  }
}

class CapsuleKill : public testing::TestWithParam<int> {};

TEST_P(CapsuleKill, LeavesWholeCapsulesAndSaysWhatIsMissing) {
  std::mt19937 random(static_cast<unsigned>(GetParam()));
  const ScratchFolder folder;
  const fs::path capsules = folder / "capsules";
  Program run(words(capsules, 1000));
  ASSERT_TRUE(reached(run, 1 + static_cast<int>(random() % 3)));
  std::this_thread::sleep_for(milliseconds(random() % 200));  // the random moment itself
  const auto ranks = rank_processes(run.pid());
  ASSERT_EQ(ranks.size(), 4u);
  const bool all = random() % 2 == 0;
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (all || i == 2) ::kill(ranks[i], SIGKILL);
  }
  EXPECT_NE(run.wait().status, 0);

  const trace::TraceReader reader(capsules);
  const auto ended = capsule::ended_steps(capsules);
  ASSERT_THAT(ended, Not(IsEmpty()));
  for (const int64_t step : reader.steps()) {
    const capsule::Capsule capsule(capsules, step);
    const bool whole = std::ranges::find(ended, step) != ended.end();
    EXPECT_EQ(capsule.faults().empty(), whole) << "step " << step;
    if (whole) {
      load_all(capsule);
    } else {
      EXPECT_THAT(capsule.faults().front().what, HasSubstr("rank "));
    }
  }
  auto resumed = words(folder / "later", static_cast<int>(ended.back()) + 1);
  resumed.push_back("--resume=" + capsules.string());
  EXPECT_EQ(e2e::run(resumed).status, 0);
}

INSTANTIATE_TEST_SUITE_P(Moments, CapsuleKill, testing::Range(0, kMoments));

}  // namespace
}  // namespace nanhunt::e2e
