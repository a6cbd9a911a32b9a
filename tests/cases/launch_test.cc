// SPDX-License-Identifier: Apache-2.0
#include "cases/mini/launch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

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

std::vector<std::string> left_behind() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("mini-")) names.push_back(name);
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

TEST(Launch, BadOptionsEndBeforeAnyRankStarts) {
  const Ended ended = probe("--tp=3 --ranks=processes");
  EXPECT_EQ(ended.status, 2);
  EXPECT_EQ(ended.output, "launch_probe: heads 4 is not divisible by tp 3\n");
}

}  // namespace
}  // namespace nanhunt::mini
