// SPDX-License-Identifier: Apache-2.0
// How much of a trace is left when the process dies. The victim is a program of its own
// (death_victim.cc), because a dying test could not tell.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <random>
#include <sstream>

#include "tests/hooks/recorder_fixture.h"
#include "trace/error.h"

namespace nanhunt::hooks {
namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

struct Accepted {
  int64_t sequence = 0;
  int64_t time_ns = 0;
};

struct Death {
  int status = 0;
  std::vector<Accepted> accepted;
  std::string said;  // on stderr

  // A sanitizer's own handler, which stood before ours, reports the signal and exits instead.
  bool by_signal(int signal) const {
    if (kSanitized && signal != SIGKILL && WIFEXITED(status)) return WEXITSTATUS(status) != 0;
    return WIFSIGNALED(status) && WTERMSIG(status) == signal;
  }
  bool by_exit(int code) const { return WIFEXITED(status) && WEXITSTATUS(status) == code; }
};

// Runs the victim; `signal` is sent when `kill_after` rows were told, 0 = never.
Death run_victim(const TraceFolder& folder, const std::string& mode, int rows, int kill_after = 0,
                 int signal = SIGKILL) {
  int told[2];
  EXPECT_EQ(pipe2(told, O_CLOEXEC), 0);
  const std::string trace = folder.trace().string();
  const std::string errors = trace + ".stderr";
  const std::string count = std::to_string(rows);
  const pid_t child = fork();
  if (child == 0) {
    const int file = open(errors.c_str(), O_CREAT | O_WRONLY, 0600);
    dup2(file, STDERR_FILENO);
    dup2(told[1], STDOUT_FILENO);
    execl(NANHUNT_DEATH_VICTIM, "death_victim", trace.c_str(), mode.c_str(), count.c_str(),
          nullptr);
    _exit(127);
  }
  close(told[1]);
  Death death;
  Accepted one;
  while (read(told[0], &one, sizeof one) == sizeof one) {
    death.accepted.push_back(one);
    if (std::cmp_equal(death.accepted.size(), kill_after)) kill(child, signal);
  }
  close(told[0]);
  waitpid(child, &death.status, 0);
  std::ostringstream text;
  text << std::ifstream(errors).rdbuf();
  death.said = text.str();
  return death;
}

// No segment at all reads as a rank that got nowhere.
trace::RankProgress progress_of(const TraceFolder& folder, int64_t step = 0) {
  try {
    return trace::TraceReader(folder.trace()).progress(step).at(0);
  } catch (const trace::Error&) {
    return {};
  }
}

bool any_temporary_file(const TraceFolder& folder) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.trace()))
    if (entry.is_regular_file() && !trace::parse_segment_path(entry.path())) return true;
  return false;
}

constexpr int kRows = 700;  // more than one segment

TEST(Death, EndOfTheStepIsComplete) {
  TraceFolder folder;
  const Death death = run_victim(folder, "end", kRows);
  EXPECT_TRUE(death.by_exit(0));
  EXPECT_TRUE(progress_of(folder).complete);
}

struct WayToDie {
  std::string mode;
  int signal;
  trace::CutReason cut;
  std::string detail;
};

class NothingIsLost : public testing::TestWithParam<WayToDie> {};

TEST_P(NothingIsLost, UpToTheLastRow) {
  const WayToDie& way = GetParam();
  TraceFolder folder;
  const Death death = run_victim(folder, way.mode, kRows);
  EXPECT_TRUE(death.by_signal(way.signal)) << "status " << death.status;
  ASSERT_EQ(death.accepted.size(), size_t{kRows});
  const trace::RankProgress progress = progress_of(folder);
  EXPECT_EQ(progress.last_sequence, kRows - 1);
  EXPECT_FALSE(progress.complete);
  EXPECT_EQ(progress.cut, way.cut);
  EXPECT_EQ(progress.cut_detail, way.detail);
}

// The ring of the steps before, too.
TEST_P(NothingIsLost, OfARingThatWaitsForTheExit) {
  const WayToDie& way = GetParam();
  TraceFolder folder;
  EXPECT_TRUE(run_victim(folder, "ring:" + way.mode, kRows).by_signal(way.signal));
  EXPECT_TRUE(progress_of(folder, 0).complete);
  EXPECT_EQ(progress_of(folder, 0).last_sequence, kRows - 1);
  EXPECT_EQ(progress_of(folder, 1).last_sequence, 0);
  EXPECT_EQ(progress_of(folder, 1).cut, way.cut);
  EXPECT_EQ(progress_of(folder, 1).cut_detail, way.detail);
}

TEST_P(NothingIsLost, ButTheRingThatDoesNotWaitForIt) {
  const WayToDie& way = GetParam();
  TraceFolder folder;
  EXPECT_TRUE(run_victim(folder, "watch:" + way.mode, kRows).by_signal(way.signal));
  const trace::TraceReader reader(folder.trace());
  EXPECT_EQ(reader.steps(), std::vector<int64_t>{1});
  EXPECT_TRUE(reader.read_step(1).records.empty());
  EXPECT_EQ(progress_of(folder, 1).cut, way.cut);
  EXPECT_EQ(progress_of(folder, 1).cut_detail,
            way.detail + "; ring: 2 steps watched, no trigger fired");
}

INSTANTIATE_TEST_SUITE_P(
    Ways, NothingIsLost,
    testing::Values(
        WayToDie{"sigterm", SIGTERM, trace::CutReason::kSignal, "SIGTERM"},
        WayToDie{"sigint", SIGINT, trace::CutReason::kSignal, "SIGINT"},
        WayToDie{"abort", SIGABRT, trace::CutReason::kSignal, "SIGABRT"},
        WayToDie{"fault", SIGSEGV, trace::CutReason::kSignal, "SIGSEGV"},
        WayToDie{"throw", SIGABRT, trace::CutReason::kException, "loss is not a number"},
        WayToDie{"throw_in_thread", SIGABRT, trace::CutReason::kException, "lost in a thread"}),
    [](const auto& way) { return way.param.mode; });

TEST(Death, KillLosesTheRing) {
  TraceFolder folder;
  const Death death = run_victim(folder, "ring:for_ever", 5, 10);
  EXPECT_TRUE(death.by_signal(SIGKILL));
  EXPECT_THROW(trace::TraceReader(folder.trace()), trace::Error);
}

TEST(Death, NanInARingIsReadableOnceItsTapReturned) {
  TraceFolder folder;
  const Death death = run_victim(folder, "watch:nan", kRows, kRows + 2);
  ASSERT_TRUE(death.by_signal(SIGKILL));
  EXPECT_EQ(trace::TraceReader(folder.trace()).read_step(1).records.back().what.site, "bad");
}

TEST(Death, RingOfAProcessThatSurvivesGoesOn) {
  TraceFolder folder;
  const Death death = run_victim(folder, "ring:survive", 5);
  EXPECT_TRUE(death.by_exit(0));
  EXPECT_TRUE(progress_of(folder, 1).complete);
  EXPECT_EQ(progress_of(folder, 1).last_sequence, 10);
}

TEST(Death, CrashWithTheQueueLockedDoesNotHang) {
  TraceFolder folder;
  EXPECT_TRUE(run_victim(folder, "lock", kRows).by_signal(SIGSEGV));
}

TEST(Death, SignalFromOutsideLetsTheThreadGoOn) {
  TraceFolder folder;
  const Death death = run_victim(folder, "outside", 0);
  EXPECT_TRUE(death.by_signal(SIGTERM));
  EXPECT_EQ(death.accepted.size(), 1U);
}

TEST(Death, SignalFromOutsideLosesNothingBeforeIt) {
  TraceFolder folder;
  const Death death = run_victim(folder, "for_ever", kRows, 2 * kRows, SIGTERM);
  EXPECT_TRUE(death.by_signal(SIGTERM));
  const trace::RankProgress progress = progress_of(folder);
  EXPECT_GE(progress.last_sequence, 2 * kRows - 1);
  EXPECT_EQ(progress.cut, trace::CutReason::kSignal);
  EXPECT_EQ(progress.cut_detail, "SIGTERM");
}

TEST(Death, ProcessThatSurvivesIsCapturedOn) {
  for (const std::string mode : {"survive", "survive_outside"}) {
    TraceFolder folder;
    const Death death = run_victim(folder, mode, kRows);
    EXPECT_TRUE(death.by_exit(0)) << mode;
    EXPECT_EQ(progress_of(folder).last_sequence, kRows + 9) << mode;
    EXPECT_TRUE(progress_of(folder).complete) << mode;
  }
}

TEST(Death, ForkedChildIsNotCapturedAndDoesNotWait) {
  TraceFolder folder;
  EXPECT_TRUE(run_victim(folder, "fork", 10).by_exit(0));
  EXPECT_EQ(progress_of(folder).last_sequence, 9);
}

TEST(Death, FullDiskStopsTheCaptureOnly) {
  TraceFolder folder;
  const Death death = run_victim(folder, "full_disk", 10);
  EXPECT_TRUE(death.by_exit(0));
  EXPECT_THAT(death.said, testing::StartsWith("nanhunt: capture stopped: "));
  EXPECT_EQ(std::count(death.said.begin(), death.said.end(), '\n'), 1) << death.said;
  const trace::RankProgress progress = progress_of(folder);
  EXPECT_EQ(progress.last_sequence, 9) << "what was sealed before stays readable";
  EXPECT_EQ(progress.cut_detail, "before the disk is full");
  EXPECT_FALSE(any_temporary_file(folder));
}

// The last 512 rows, or those of the last 200 ms, whichever is more.
int64_t rows_that_may_be_lost(const std::vector<Accepted>& accepted) {
  constexpr int64_t kAgeNs = 200'000'000;
  const int64_t young = std::count_if(accepted.begin(), accepted.end(), [&](const Accepted& row) {
    return row.time_ns >= accepted.back().time_ns - kAgeNs;
  });
  return std::max<int64_t>(512, young);
}

TEST(Death, KillLosesTheYoungestRowsAtMost) {
  std::mt19937 random(20260101);
  for (int i = 0; i < 10; ++i) {
    const int kill_after = std::uniform_int_distribution(1, 6000)(random);
    TraceFolder folder;
    const Death death = run_victim(folder, "for_ever", 0, kill_after);
    ASSERT_TRUE(death.by_signal(SIGKILL));
    const int64_t lost = death.accepted.back().sequence - progress_of(folder).last_sequence;
    EXPECT_LE(lost, rows_that_may_be_lost(death.accepted)) << "killed after row " << kill_after;
  }
}

TEST(Death, NanIsReadableOnceItsTapReturned) {
  for (const int rows : {0, 5, kRows}) {
    TraceFolder folder;
    const Death death = run_victim(folder, "nan", rows, rows + 1);
    ASSERT_TRUE(death.by_signal(SIGKILL));
    const trace::Step step = trace::TraceReader(folder.trace()).read_step(0);
    ASSERT_EQ(std::ssize(step.records), rows + 1);
    EXPECT_EQ(step.records.back().what.site, "bad");
    EXPECT_EQ(step.records.back().statistics.nan, 1U);
  }
}

// The twin of the test above: without a NaN nobody waits, and a kill does lose rows.
TEST(Death, KillWithoutNanLosesTheLastRow) {
  TraceFolder folder;
  const Death death = run_victim(folder, "for_ever", 0, 5);
  ASSERT_TRUE(death.by_signal(SIGKILL));
  EXPECT_LT(progress_of(folder).last_sequence, death.accepted.back().sequence);
}

}  // namespace
}  // namespace nanhunt::hooks
