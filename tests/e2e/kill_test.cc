// SPDX-License-Identifier: Apache-2.0
// A rank of the bundled subject dies at a random moment of its run: what was sealed is read, the
// report says how far the rank came, the other ranks end by themselves and soon, nothing is left
// behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <thread>

#include "tests/e2e/verdict_json.h"
#include "tests/support/scratch_folder.h"

namespace nanhunt::e2e {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr int kRanks = 4;
constexpr auto kSoon = std::chrono::seconds(2);

// Looks again every millisecond; false when nothing came in a minute.
template <typename Predicate>
bool comes_true(const Predicate& predicate) {
  for (const auto end = Clock::now() + std::chrono::minutes(1); Clock::now() < end;) {
    if (predicate()) return true;
    std::this_thread::sleep_for(milliseconds(1));
  }
  return false;
}

// The subject over four rank processes, for more steps than anybody waits for.
class LongRun {
 public:
  explicit LongRun(const std::string& fault = "")
      : launcher_({(build_folder() / "cases/mini/mini").string(), "--steps=1000", "--tp=2",
                   "--dp=2", "--ranks=processes"},
                  environment(fault)) {}

  // Until the launcher has told that `step` is done.
  bool reached(int step) {
    const std::string line = "step " + std::to_string(step) + " ";
    return comes_true([&] { return launcher_.output_so_far().find(line) != std::string::npos; });
  }

  // Until that rank has sealed the first part of a step that it is still in.
  bool inside(int step, int rank) {
    char name[64];
    std::snprintf(name, sizeof name, "step-%06d/rank-%05d.000.h5", step, rank);
    return comes_true([&] { return fs::exists(trace() / name); });
  }

  pid_t process_of(int rank) const {
    const std::string launcher = std::to_string(launcher_.pid());
    const std::string mark = "NANHUNT_MINI_RANK=" + std::to_string(rank) + " ";
    std::istringstream children(read("/proc/" + launcher + "/task/" + launcher + "/children"));
    for (std::string child; children >> child;) {
      if (read("/proc/" + child + "/environ").find(mark) != std::string::npos) {
        return std::stoi(child);
      }
    }
    return -1;
  }

  // The signal to one rank; then how the launcher ended, and how long after the signal the last
  // segment was sealed (what a process needs to unload its libraries does not count).
  void end(int rank, int signal) {
    const pid_t process = process_of(rank);
    ASSERT_GT(process, 0);
    const std::string memory = "/dev/shm/mini-" + std::to_string(launcher_.pid());
    const auto killed = fs::file_time_type::clock::now();
    ASSERT_EQ(::kill(process, signal), 0);
    ended = launcher_.wait();
    sealed_after = last_seal() - killed;
    EXPECT_FALSE(fs::exists(memory)) << memory;
  }

  Hunted scan() const { return verdict_of(nanhunt({"scan", trace().string(), "--json"})); }
  fs::path trace() const { return folder_ / "trace"; }

  Ended ended;
  fs::file_time_type::duration sealed_after{};

 private:
  fs::file_time_type last_seal() const {
    fs::file_time_type last = fs::file_time_type::min();
    for (const auto& entry : fs::recursive_directory_iterator(trace())) {
      if (entry.path().extension() == ".h5") last = std::max(last, entry.last_write_time());
    }
    return last;
  }

  Environment environment(const std::string& fault) {
    Environment added;
    write(folder_ / "plan.json", R"({"level": "stats", "out": ")" + trace().string() + "\"}");
    added["NANHUNT_CAPTURE"] = (folder_ / "plan.json").string();
    added["ASAN_OPTIONS"] = "handle_segv=0";  // else that runtime ends the rank, not the signal
    if (!fault.empty()) {
      write(folder_ / "side.json", fault);
      added["NANHUNT_FAULT_FILE"] = (folder_ / "side.json").string();
    }
    return added;
  }

  ScratchFolder folder_;
  Program launcher_;
};

#ifdef NANHUNT_E2E_ALL
constexpr int kMoments = 50;
#else
constexpr int kMoments = 6;
#endif

class Kill : public testing::TestWithParam<int> {};

TEST_P(Kill, LeavesWhatWasSealed) {
  std::mt19937 random(static_cast<unsigned>(GetParam()));
  const int rank = static_cast<int>(random() % kRanks);
  LongRun run;
  ASSERT_TRUE(run.reached(static_cast<int>(random() % 3)));
  std::this_thread::sleep_for(milliseconds(random() % 300));  // the random moment itself
  run.end(rank, SIGKILL);
  EXPECT_EQ(run.ended.status, 128 + SIGKILL);
  EXPECT_LT(run.sealed_after, kSoon) << run.ended.errors;

  const Hunted scanned = run.scan();
  EXPECT_TRUE(scanned.is_json);
  EXPECT_EQ(scanned.status, 3) << scanned.describe();
  EXPECT_EQ(scanned.kind, "incomplete");
  EXPECT_THAT(scanned.incomplete, HasSubstr("rank " + std::to_string(rank) + " "));
  EXPECT_THAT(scanned.incomplete, HasSubstr(" ends at sequence "));
  EXPECT_THAT(scanned.errors, Not(HasSubstr("HDF5")));
}

INSTANTIATE_TEST_SUITE_P(Moments, Kill, testing::Range(1, 1 + kMoments));

#ifndef NANHUNT_E2E_ALL

TEST(KillAfterNan, NamesTheNan) {
  LongRun run(R"({"name": "nan_on_rank", "layer": 1, "rank": 2, "step": 0, "element": 5})");
  ASSERT_TRUE(run.reached(0));  // so the tap of the NaN has returned
  run.end(2, SIGKILL);
  const Hunted scanned = run.scan();
  EXPECT_EQ(scanned.status, 1) << scanned.describe();
  EXPECT_EQ(scanned.kind, "non-finite");
  EXPECT_EQ(scanned.place(), "decoder.layers.1.mlp.linear_fc1 forward output");
  EXPECT_EQ(scanned.ranks, std::vector<int>{2});
  EXPECT_EQ(scanned.step, 0);
}

class OtherEnds : public testing::TestWithParam<std::pair<const char*, int>> {};

TEST_P(OtherEnds, AreNamed) {
  const auto [name, signal] = GetParam();
  LongRun run;
  ASSERT_TRUE(run.inside(1, 1));
  run.end(1, signal);
  EXPECT_EQ(run.ended.status, 128 + signal);
  const Hunted scanned = run.scan();
  EXPECT_EQ(scanned.status, 3) << scanned.describe();
  // The step may have ended by the time the signal arrives.
  EXPECT_THAT(scanned.incomplete, AnyOf(HasSubstr("rank 1 ends at sequence "),
                                        HasSubstr("rank 1 wrote nothing (it died before: ")));
  EXPECT_THAT(scanned.incomplete, HasSubstr(name));
}

INSTANTIATE_TEST_SUITE_P(Signals, OtherEnds,
                         testing::Values(std::pair{"SIGTERM", SIGTERM},
                                         std::pair{"SIGSEGV", SIGSEGV},
                                         std::pair{"SIGABRT", SIGABRT}),
                         [](const auto& one) { return one.param.first; });

// The must-fail twin: a run that nobody kills has nothing incomplete.
TEST(KillTwin, WholeRunIsClean) {
  const ScratchFolder folder;
  const std::string trace = (folder / "trace").string();
  const Ended ended = run({(build_folder() / "cases/mini/mini").string(), "--steps=2", "--tp=2",
                           "--dp=2", "--ranks=processes"},
                          {{"NANHUNT_CAPTURE", R"({"level": "stats", "out": ")" + trace + "\"}"}});
  EXPECT_EQ(ended.status, 0) << ended.errors;
  const Hunted scanned = verdict_of(nanhunt({"scan", trace, "--json"}));
  EXPECT_EQ(scanned.status, 0) << scanned.describe();
  EXPECT_EQ(scanned.incomplete, "");
}

#endif

}  // namespace
}  // namespace nanhunt::e2e
