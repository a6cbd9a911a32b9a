// SPDX-License-Identifier: Apache-2.0
#include "cases/mini/rank_processes.h"

#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "cases/mini/rank_outcome.h"
#include "cases/mini/world.h"
#include "trace/error.h"

namespace nanhunt::mini {
namespace {

using Clock = std::chrono::steady_clock;

// Rank, world and parent of a rank process, separated by spaces.
constexpr const char* kVariable = "NANHUNT_MINI_RANK";
// After a rank's death the others get this long to unwind, then SIGTERM, then as long again.
constexpr auto kGrace = std::chrono::seconds(10);

[[noreturn]] void fail(const std::string& what, int reason) {
  throw trace::Error(trace::ErrorKind::kInternal, what + ": " + std::strerror(reason));
}

std::vector<std::string> own_arguments() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> arguments;
  for (std::string word; std::getline(file, word, '\0');) arguments.push_back(word);
  return arguments;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> result;
  for (std::string& word : words) result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

// The signals that the parent takes with sigtimedwait instead of dying of them.
sigset_t watched_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGCHLD, SIGTERM, SIGINT}) sigaddset(&signals, signal);
  return signals;
}

class SignalMask {
 public:
  SignalMask() {
    const sigset_t watched = watched_signals();
    ::sigprocmask(SIG_BLOCK, &watched, &before_);
  }
  ~SignalMask() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }
  SignalMask(const SignalMask&) = delete;
  SignalMask& operator=(const SignalMask&) = delete;
  const sigset_t& before() const { return before_; }

 private:
  sigset_t before_;
};

pid_t start_rank(int rank, const std::string& world_name, const sigset_t& signal_mask) {
  std::vector<std::string> arguments = own_arguments();
  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) environment.emplace_back(*entry);
  environment.push_back(std::string(kVariable) + "=" + std::to_string(rank) + " " + world_name +
                        " " + std::to_string(::getpid()));
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigmask(&attributes, &signal_mask);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t process = 0;
  const int reason = ::posix_spawn(&process, "/proc/self/exe", nullptr, &attributes,
                                   pointers(arguments).data(), pointers(environment).data());
  posix_spawnattr_destroy(&attributes);
  if (reason != 0) fail("cannot start rank " + std::to_string(rank), reason);
  return process;
}

int status_of(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

// The ranks of one run and what became of them.
class RankProcesses {
 public:
  explicit RankProcesses(MappedWorld& world) : world_(world) {}
  ~RankProcesses() {
    signal_all(SIGKILL);
    while (running_ > 0) reap(/*options=*/0);
  }
  RankProcesses(const RankProcesses&) = delete;
  RankProcesses& operator=(const RankProcesses&) = delete;

  void start(const std::string& world_name, const sigset_t& signal_mask) {
    for (int rank = 0; rank < world_.size(); ++rank) {
      processes_.push_back(start_rank(rank, world_name, signal_mask));
      ++running_;
    }
  }

  int wait() {
    while (running_ > 0) {
      const sigset_t watched = watched_signals();
      const timespec poll = {0, 20'000'000};
      const int signal = ::sigtimedwait(&watched, nullptr, &poll);
      if (signal == SIGTERM || signal == SIGINT) signal_all(signal);
      reap(WNOHANG);
      press_stragglers();
    }
    return first_failure_;
  }

 private:
  void signal_all(int signal) {
    for (const pid_t process : processes_) {
      if (process != 0) ::kill(process, signal);
    }
  }

  void reap(int options) {
    for (size_t rank = 0; rank < processes_.size(); ++rank) {
      int wait_status = 0;
      if (processes_[rank] == 0 || ::waitpid(processes_[rank], &wait_status, options) <= 0)
        continue;
      processes_[rank] = 0;
      --running_;
      note_end(static_cast<int>(rank), wait_status);
    }
  }

  // Of several failures the first that is not a mere consequence decides.
  void note_end(int rank, int wait_status) {
    const int status = status_of(wait_status);
    if (status == 0) return;
    if (failed_at_ == Clock::time_point()) failed_at_ = Clock::now();
    if (first_failure_ == 0 || first_failure_ == kAbortedStatus) first_failure_ = status;
    if (status == kAbortedStatus) return;
    const std::string how = WIFSIGNALED(wait_status)
                                ? "was ended by signal " + std::to_string(WTERMSIG(wait_status))
                                : "exited with status " + std::to_string(status);
    const std::string reason = "rank " + std::to_string(rank) + " " + how;
    std::fprintf(stderr, "mini: %s\n", reason.c_str());
    world_.abort(reason);
  }

  // A rank that neither computes to its next collective nor ends is pressed, then killed.
  void press_stragglers() {
    if (failed_at_ == Clock::time_point() || Clock::now() - failed_at_ < kGrace) return;
    signal_all(pressed_ ? SIGKILL : SIGTERM);
    pressed_ = true;
    failed_at_ = Clock::now();
  }

  MappedWorld& world_;
  std::vector<pid_t> processes_;  // by rank; 0 once it ended
  int running_ = 0;
  int first_failure_ = 0;
  bool pressed_ = false;
  Clock::time_point failed_at_{};
};

struct RankIdentity {
  int rank = 0;
  std::string world_name;
  pid_t parent = 0;
};

// Read once; removed so that no grandchild takes itself for a rank.
RankIdentity take_identity() {
  RankIdentity identity;
  std::vector<std::string> words(1);
  for (const char* c = std::getenv(kVariable); *c != '\0'; ++c) {
    if (*c == ' ')
      words.emplace_back();
    else
      words.back() += *c;
  }
  ::unsetenv(kVariable);
  if (words.size() != 3)
    throw trace::Error(trace::ErrorKind::kUsage, "bad " + std::string(kVariable));
  return {std::atoi(words[0].c_str()), words[1], std::atoi(words[2].c_str())};
}

}  // namespace

bool is_rank_process() {
  return std::getenv(kVariable) != nullptr;
}

int run_rank_process(const RankMain& rank_main) {
  const RankIdentity identity = take_identity();
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != identity.parent) {  // it ended before the line above
    ::shm_unlink(identity.world_name.c_str());
    return 128 + SIGTERM;
  }
  const auto world = attach_process_world(identity.world_name);
  const RankOutcome outcome = run_rank(*world, identity.rank, rank_main);
  if (outcome.status != 0) std::fprintf(stderr, "mini: %s\n", outcome.reason.c_str());
  return outcome.status;
}

int launch_processes(const Config& config) {
  const SignalMask mask;
  const std::string name = "/mini-" + std::to_string(::getpid());
  const auto world = create_process_world(name, static_cast<int>(config.world_size()), kSlotBytes);
  RankProcesses ranks(static_cast<MappedWorld&>(*world));  // create_process_world makes no other
  ranks.start(name, mask.before());
  return ranks.wait();
}

}  // namespace nanhunt::mini
