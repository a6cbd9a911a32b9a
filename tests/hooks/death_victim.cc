// SPDX-License-Identifier: Apache-2.0
// A training process that dies in a given way: death_victim TRACE MODE ROWS
// Records rows and tells each one on stdout, after record() returned, as a pair of int64:
// sequence number and monotonic time in ns. After ROWS rows it does what MODE says. A mode that
// starts with "ring:" keeps the last step in a ring that is written at exit, "watch:" in one that
// waits for a NaN only; step 0 has the rows, step 1 one more.
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <limits>
#include <stdexcept>
#include <string>
#include <thread>

#include "hooks/death_watch.h"
#include "hooks/trace_writer.h"
#include "tests/hooks/bounded_queue_probe.h"
#include "tests/hooks/recorder_fixture.h"

namespace nanhunt::hooks {
namespace {

int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

void tell(int64_t sequence) {
  const int64_t message[2] = {sequence, now_ns()};
  if (write(STDOUT_FILENO, message, sizeof message) != sizeof message) _exit(3);
}

void record_rows(RankRecorder& rank, int count) {
  static const std::vector<float> values(64, 1.0F);
  for (int i = 0; i < count; ++i) tell(rank.record(observe("site", values)));
}

volatile int zero = 0;
volatile std::sig_atomic_t handled = 0;

void fault() {
  *reinterpret_cast<volatile int*>(static_cast<intptr_t>(zero) + 8) = 1;
}

// Keeps recording until the parent kills it.
[[noreturn]] void record_for_ever(RankRecorder& rank) {
  for (;;) record_rows(rank, 1);
}

// A crash inside the queue: its lock is never released.
void die_with_the_lock(const trace::CapturePlan& plan) {
  TraceWriter writer(plan);
  writer.seal_on_death();
  BoundedQueueProbe::lock_of(writer.queue()).lock();
  fault();
}

void send_from_outside(int signal) {
  const pid_t self = getpid();
  const pid_t child = fork();
  if (child == 0) _exit(kill(self, signal));
  waitpid(child, nullptr, 0);
}

// On a watch whose writer never answers: this thread may hold what
// the writer needs, so it must go on until the signal is raised again.
[[noreturn]] void go_on_after_a_signal_from_outside() {
  const int writer = 0;
  watch_for_death(&writer);
  send_from_outside(SIGTERM);
  tell(-1);
  for (;;) pause();
}

// A child without a writer thread: nothing in it may wait for one.
int status_of_forked_child(RankRecorder& rank) {
  const pid_t child = fork();
  if (child == 0) {
    static const std::vector<float> values(64, 1.0F);
    for (int i = 0; i < 2000; ++i)
      if (rank.record(observe("site", values)) >= 0) _exit(1);
    raise(SIGTERM);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM ? 0 : 4;
}

int die(const std::string& mode, const trace::CapturePlan& plan, RankRecorder& rank) {
  if (mode == "end") rank.end_step();
  if (mode == "sigterm") raise(SIGTERM);
  if (mode == "sigint") kill(getpid(), SIGINT);
  if (mode == "abort") std::abort();
  if (mode == "fault") fault();
  if (mode == "throw") throw std::runtime_error("loss is not a number");
  if (mode == "throw_in_thread") {
    std::thread([] { throw std::runtime_error("lost in a thread"); }).join();
  }
  if (mode == "lock") die_with_the_lock(plan);
  if (mode == "outside") go_on_after_a_signal_from_outside();
  if (mode == "for_ever") record_for_ever(rank);
  if (mode == "nan") {
    static const std::vector<float> bad{1.0F, std::numeric_limits<float>::quiet_NaN()};
    tell(rank.record(observe("bad", bad)));
    pause();
  }
  if (mode.starts_with("survive")) {
    if (mode == "survive")
      raise(SIGTERM);
    else
      send_from_outside(SIGTERM);
    // The thread sanitizer delivers signals in calls such as poll only.
    while (!handled) poll(nullptr, 0, 1);
    record_rows(rank, 10);
    rank.end_step();
  }
  if (mode == "full_disk") {
    rank.seal(trace::CutReason::kTrigger, "before the disk is full", 10'000);
    const rlimit few_bytes{1000, 1000};
    setrlimit(RLIMIT_FSIZE, &few_bytes);
    rank.record(observe("site", std::vector<float>(64, 1.0F)));
    rank.end_step();
  }
  if (mode == "fork") {
    const int status = status_of_forked_child(rank);
    rank.end_step();
    return status;
  }
  return 0;
}

// Takes the word before the colon off the mode.
void set_ring(trace::CapturePlan& plan, std::string& mode) {
  const size_t colon = mode.find(':');
  if (colon == std::string::npos) return;
  const bool exit = mode.substr(0, colon) == "ring";
  mode.erase(0, colon + 1);
  plan.ring = 1;
  plan.triggers = {{exit ? trace::TriggerKind::kExit : trace::TriggerKind::kNonFinite, 0}};
}

int run(const std::string& folder, std::string mode, int rows) {
  trace::CapturePlan plan;
  plan.out = folder;
  set_ring(plan, mode);
  // The program's own way to shut down, installed before ours.
  if (mode.starts_with("survive")) std::signal(SIGTERM, [](int) { handled = 1; });
  Recorder recorder(plan);
  recorder.seal_on_death();
  RankRecorder& rank = recorder.add_rank(facts_of_rank(0));
  rank.begin_step(0);
  record_rows(rank, rows);
  if (plan.ring > 0) {
    rank.end_step();
    rank.begin_step(1);
    record_rows(rank, 1);
  }
  return die(mode, plan, rank);
}

}  // namespace
}  // namespace nanhunt::hooks

int main(int, char** argv) {
  return nanhunt::hooks::run(argv[1], argv[2], std::atoi(argv[3]));
}
