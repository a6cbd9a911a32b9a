// SPDX-License-Identifier: Apache-2.0
#include "cases/mini/launch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

namespace nanhunt::mini {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

struct Ended {
  int status = -1;
  std::string output;  // stdout and stderr
};

Ended probe(const std::string& arguments, const std::string& failure = "") {
  const std::string command =
      "LAUNCH_PROBE='" + failure + "' " + LAUNCH_PROBE_PROGRAM + " " + arguments + " 2>&1";
  FILE* pipe = ::popen(command.c_str(), "r");
  Ended ended;
  std::array<char, 4096> buffer;
  while (const size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
    ended.output.append(buffer.data(), count);
  }
  ended.status = WEXITSTATUS(::pclose(pipe));
  return ended;
}

// A probe whose rank 1 hangs, by the time it does. Its output ends when parent and ranks have all
// ended.
class HangingProbe {
 public:
  HangingProbe() {
    int ends[2];
    if (::pipe(ends) != 0) std::abort();
    process_ = ::fork();
    if (process_ == 0) {
      ::dup2(ends[1], STDOUT_FILENO);
      ::close(ends[0]);
      ::close(ends[1]);
      ::setenv("LAUNCH_PROBE", "hang 1", 1);
      ::execl(LAUNCH_PROBE_PROGRAM, LAUNCH_PROBE_PROGRAM, "--tp=2", "--ranks=processes", nullptr);
      ::_exit(127);
    }
    ::close(ends[1]);
    output_ = ::fdopen(ends[0], "r");
    std::array<char, 256> line;
    while (std::fgets(line.data(), line.size(), output_) != nullptr) {
      // Rank 0 prints beside it, in blocks that may end within a line.
      if (std::string(line.data()).ends_with("hanging\n")) break;
    }
  }
  ~HangingProbe() { std::fclose(output_); }
  HangingProbe(const HangingProbe&) = delete;
  HangingProbe& operator=(const HangingProbe&) = delete;

  // Sends the signal to the parent, waits for the end of the output; the parent's wait status.
  int end_with(int signal) {
    ::kill(process_, signal);
    while (std::fgetc(output_) != EOF) continue;
    int status = 0;
    ::waitpid(process_, &status, 0);
    return status;
  }

 private:
  pid_t process_ = 0;
  FILE* output_ = nullptr;
};

// Shared memory of launchers that have ended; other runs beside this test keep theirs.
std::vector<std::string> left_behind() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("mini-") && ::kill(std::atoi(name.c_str() + 5), 0) != 0) {
      names.push_back(name);
    }
  }
  return names;
}

TEST(Launch, ThreadsAndProcessesGiveEqualBits) {
  const Ended threads = probe("--tp=2 --dp=2 --ranks=threads");
  const Ended processes = probe("--tp=2 --dp=2 --ranks=processes");
  EXPECT_EQ(threads.status, 0);
  EXPECT_THAT(threads.output, HasSubstr("whole"));
  EXPECT_EQ(processes.status, 0);
  EXPECT_EQ(threads.output, processes.output);
  EXPECT_NE(threads.output, probe("--tp=2 --ranks=processes").output);  // the bits tell runs apart
}

TEST(Launch, AKilledRankEndsTheOthers) {
  const Ended ended = probe("--tp=4 --ranks=processes", "kill 2");
  EXPECT_EQ(ended.status, 128 + 9);
  EXPECT_THAT(ended.output, HasSubstr("rank 2 was ended by signal 9"));
  for (const char* other : {"rank 0 stopped", "rank 1 stopped", "rank 3 stopped"}) {
    EXPECT_THAT(ended.output, HasSubstr(other));
  }
  EXPECT_THAT(ended.output, Not(HasSubstr("whole")));
  EXPECT_THAT(left_behind(), IsEmpty());
}

TEST(Launch, AnExceptionNamesItsRankInBothLaunches) {
  for (const char* ranks : {"--ranks=threads", "--ranks=processes"}) {
    const Ended ended = probe("--tp=2 " + std::string(ranks), "throw 1");
    EXPECT_EQ(ended.status, 70) << ranks;
    EXPECT_THAT(ended.output, HasSubstr("rank 1: told to fail"));
    EXPECT_THAT(ended.output, HasSubstr("rank 0 stopped: rank 1: told to fail"));
    EXPECT_EQ(probe("--tp=2 " + std::string(ranks), "usage 0").status, 2) << ranks;
  }
}

TEST(Launch, TerminationIsPassedOnToTheRanks) {
  const int status = HangingProbe().end_with(SIGTERM);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 128 + SIGTERM);
  EXPECT_THAT(left_behind(), IsEmpty());
}

TEST(Launch, RanksEndWithTheirParentAndLeaveNothing) {
  const int status = HangingProbe().end_with(SIGKILL);
  EXPECT_TRUE(WIFSIGNALED(status));  // the parent had no chance to clean up
  EXPECT_THAT(left_behind(), IsEmpty());
}

TEST(Launch, BadOptionsEndBeforeAnyRankStarts) {
  const Ended ended = probe("--tp=3 --ranks=processes");
  EXPECT_EQ(ended.status, 2);
  EXPECT_EQ(ended.output, "launch_probe: heads 4 is not divisible by tp 3\n");
}

}  // namespace
}  // namespace nanhunt::mini
