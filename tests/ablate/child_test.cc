// SPDX-License-Identifier: Apache-2.0
#include "ablate/child.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/support/scratch_folder.h"

namespace nanhunt::ablate {
namespace {

namespace fs = std::filesystem;

// Waits for the end of a process that is not ours; false when it lives on for 20 s.
bool ends(pid_t pid) {
  const auto descriptor = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  if (descriptor < 0) return true;  // gone already
  pollfd event{descriptor, POLLIN, 0};
  const bool ended = ::poll(&event, 1, 20000) == 1;
  ::close(descriptor);
  return ended;
}

class Child : public ::testing::Test {
 protected:
  ChildOutcome run(const std::string& script, double timeout_s = 60) {
    return runner_.run({{"sh", "-c", script},
                        {{"GREETING", "hello"}},
                        folder_ / "out",
                        folder_ / "err",
                        timeout_s});
  }
  std::string text_of(const std::string& name) {
    std::ifstream stream(folder_ / name);
    std::string text;
    std::getline(stream, text);
    return text;
  }

  const ScratchFolder folder_;
  ChildRunner runner_;
};

TEST_F(Child, TellsTheExitStatusAndKeepsOutput) {
  const ChildOutcome outcome = run("echo $GREETING; echo wrong >&2; exit 3");
  EXPECT_EQ(outcome.end, ChildEnd::kExited);
  EXPECT_EQ(outcome.status, 3);
  EXPECT_EQ(describe(outcome), "exit status 3");
  EXPECT_EQ(text_of("out"), "hello");
  EXPECT_EQ(text_of("err"), "wrong");
  EXPECT_EQ(tail_of(folder_ / "err", 1), "wrong");
}

TEST_F(Child, RunsInTheFolderAskedFor) {
  const auto where = [&](const fs::path& folder) {
    runner_.run({{"pwd", "-P"}, {}, folder_ / "out", folder_ / "err", 60, folder});
    return text_of("out");
  };
  EXPECT_EQ(where(folder_.path()), fs::canonical(folder_.path()).string());
  EXPECT_EQ(where({}), fs::canonical(fs::current_path()).string());
  const ChildOutcome outcome =
      runner_.run({{"pwd"}, {}, folder_ / "out", folder_ / "err", 60, folder_ / "missing"});
  EXPECT_EQ(outcome.end, ChildEnd::kNotStarted);
}

TEST_F(Child, NamesTheSignal) {
  const ChildOutcome outcome = run("kill -SEGV $$");
  EXPECT_EQ(outcome.end, ChildEnd::kSignalled);
  EXPECT_EQ(describe(outcome), "killed by SIGSEGV");
}

TEST_F(Child, IsEndedAfterItsTimeWithAllItStarted) {
  const ChildOutcome outcome = run("sleep 1000 & echo $!; wait", 0.2);
  EXPECT_EQ(outcome.end, ChildEnd::kTimedOut);
  const pid_t grandchild = std::stoi(text_of("out"));
  EXPECT_TRUE(ends(grandchild));
}

// As torchrun starts its workers.
TEST_F(Child, IsEndedWithWhatLeftItsGroup) {
  const ChildOutcome outcome = run("setsid sh -c 'echo $$; exec sleep 1000' & wait", 0.5);
  EXPECT_EQ(outcome.end, ChildEnd::kTimedOut);
  const pid_t worker = std::stoi(text_of("out"));
  EXPECT_TRUE(ends(worker));
}

TEST_F(Child, ThatIgnoresTheRequestToEndIsKilled) {
  const ChildOutcome outcome = run("trap '' TERM; while true; do sleep 0.1; done", 0.2);
  EXPECT_EQ(outcome.end, ChildEnd::kTimedOut);
}

TEST_F(Child, ThatCannotStartSaysWhy) {
  const ChildOutcome outcome =
      runner_.run({{"no-such-program-anywhere"}, {}, folder_ / "out", folder_ / "err", 5});
  EXPECT_EQ(outcome.end, ChildEnd::kNotStarted);
  EXPECT_EQ(describe(outcome), "cannot start: 'no-such-program-anywhere' is not in PATH");
}

TEST_F(Child, RunsBesideOthers) {
  std::vector<ChildOutcome> outcomes(6);
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&, i] {
      outcomes[static_cast<size_t>(i)] = runner_.run({{"sh", "-c", "exit " + std::to_string(i)},
                                                      {},
                                                      folder_ / ("out" + std::to_string(i)),
                                                      folder_ / "err",
                                                      60});
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < 6; ++i) EXPECT_EQ(outcomes[static_cast<size_t>(i)].status, i);
}

// Two children that end only when they meet: one reads what the other writes.
std::vector<ChildEnd> meet(ChildRunner& runner, const fs::path& folder, double timeout_s) {
  const std::string pipe = (folder / "pipe").string();
  const std::vector<std::string> scripts = {"read word < " + pipe, "echo word > " + pipe};
  std::vector<ChildEnd> ends(scripts.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < scripts.size(); ++i) {
    threads.emplace_back([&, i] {
      const std::string number = std::to_string(i);
      ends[i] = runner
                    .run({{"sh", "-c", scripts[i]},
                          {},
                          folder / ("out" + number),
                          folder / ("err" + number),
                          timeout_s})
                    .end;
    });
  }
  for (std::thread& thread : threads) thread.join();
  return ends;
}

TEST_F(Child, WaitsForItsPlaceAmongThoseAllowedAtATime) {
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  ChildRunner two(2), one(1);
  EXPECT_EQ(meet(two, folder_.path(), 60),
            (std::vector<ChildEnd>{ChildEnd::kExited, ChildEnd::kExited}));
  EXPECT_EQ(meet(one, folder_.path(), 0.2),
            (std::vector<ChildEnd>{ChildEnd::kTimedOut, ChildEnd::kTimedOut}));
}

}  // namespace
}  // namespace nanhunt::ablate
