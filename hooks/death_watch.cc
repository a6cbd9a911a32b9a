// SPDX-License-Identifier: Apache-2.0
#include "hooks/death_watch.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <mutex>

#include "hooks/quiet_thread.h"

namespace nanhunt::hooks {
namespace {

constexpr std::array kSignals{SIGTERM, SIGINT, SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
constexpr int64_t kSealWaitMs = 2000;
constexpr int kSealPollMs = 1;
constexpr size_t kAlternateStackBytes = 64 * 1024;
// Stands in the place of a signal number for an uncaught exception.
constexpr int kUncaught = -1;

struct Watch {
  std::atomic<const void*> writer{nullptr};
  std::atomic<pid_t> process{0};
  std::atomic<int> request_fd{-1};
  std::atomic<uint32_t> requested{0};
  std::atomic<uint32_t> acknowledged{0};
  std::atomic<int> cause{0};  // signal, kUncaught, or 0; the first one stands until acknowledged
  std::atomic<int> raise_fd{-1};  // wakes the thread that watches over `to_raise`
  std::atomic<uint64_t> to_raise{0};  // a bit for each signal number
  std::array<char, 512> exception_text{};  // written before `cause` becomes kUncaught
  std::array<struct sigaction, NSIG> old_actions{};
  std::terminate_handler old_terminate = nullptr;
  std::mutex installing;
};

// Never destroyed: a signal may arrive while static objects are.
Watch& watch() {
  static Watch& instance = *new Watch;
  return instance;
}
Watch* const watch_at_start = &watch();  // so that a handler never runs the construction

int64_t milliseconds_now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

bool wake(int descriptor) {
  const uint64_t one = 1;
  return ::write(descriptor, &one, sizeof one) == sizeof one;
}

// A forked child has no writer thread and asks nobody.
bool somebody_seals() {
  const Watch& state = *watch_at_start;
  return state.writer.load() && state.process.load() == getpid();
}

// The number of the request.
uint32_t request(int cause) {
  Watch& state = *watch_at_start;
  int nobody = 0;
  state.cause.compare_exchange_strong(nobody, cause);
  const uint32_t mine = state.requested.fetch_add(1) + 1;
  wake(state.request_fd.load());
  return mine;
}

void wait_until_sealed(uint32_t mine) {
  const Watch& state = *watch_at_start;
  const int64_t until = milliseconds_now() + kSealWaitMs;
  while (state.writer.load() && static_cast<int32_t>(state.acknowledged.load() - mine) < 0 &&
         milliseconds_now() < until)
    poll(nullptr, 0, kSealPollMs);
}

void request_and_wait(int cause) {
  if (somebody_seals()) wait_until_sealed(request(cause));
}

// A fault of this thread: on return from the handler it happens again, with its true address.
bool is_fault(const siginfo_t& info) {
  return info.si_code > 0 && (info.si_signo == SIGSEGV || info.si_signo == SIGBUS ||
                              info.si_signo == SIGFPE || info.si_signo == SIGILL);
}

// raise(), and abort(), which ends the process as soon as the handler returns.
bool is_own(const siginfo_t& info) {
  return (info.si_code == SI_USER || info.si_code == SI_TKILL) && info.si_pid == getpid();
}

// Puts the signal off; false when the thread that watches over it is gone (a program may close all
// descriptors that it did not open).
bool put_off(int signal) {
  Watch& state = *watch_at_start;
  state.to_raise.fetch_or(uint64_t{1} << signal);
  request(signal);
  return wake(state.raise_fd.load());
}

void on_signal(int signal, siginfo_t* info, void*) {
  const int saved_errno = errno;
  Watch& state = *watch_at_start;
  const bool from_outside = !is_fault(*info) && !is_own(*info);
  if (!(from_outside && somebody_seals() && put_off(signal))) {
    request_and_wait(signal);
    sigaction(signal, &state.old_actions[signal], nullptr);
    if (!is_fault(*info)) raise(signal);
  }
  errno = saved_errno;
}

// Lets one signal happen that a handler put off. Where it ends the process it does so here and now,
// before the writer takes more of what goes on meanwhile; a handler of the program runs where
// the system finds a thread for it.
void raise_again(int signal) {
  const struct sigaction& action = watch_at_start->old_actions[signal];
  const bool ends = !(action.sa_flags & SA_SIGINFO) && action.sa_handler == SIG_DFL;
  sigaction(signal, &action, nullptr);
  if (!ends) {
    kill(getpid(), signal);
    return;
  }
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, signal);
  pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
  raise(signal);
}

void raise_what_came_from_outside() {
  const uint64_t signals = watch_at_start->to_raise.exchange(0);
  for (const int signal : kSignals)
    if (signals >> signal & 1) raise_again(signal);
}

// The writer raises what it has sealed; this thread, what it could not seal in time.
void raise_what_waits_too_long() {
  Watch& state = *watch_at_start;
  const int descriptor = state.raise_fd.load();
  for (uint64_t count = 0; ::read(descriptor, &count, sizeof count) == sizeof count;) {
    wait_until_sealed(state.requested.load());
    raise_what_came_from_outside();
  }
}

void copy_exception_text(std::array<char, 512>& out) {
  const char* text = "exception of unknown type";
  const auto copy = [&] {
    std::strncpy(out.data(), text, out.size() - 1);
  };
  const std::exception_ptr current = std::current_exception();
  if (!current) {
    text = "std::terminate without an exception";
    return copy();
  }
  try {
    std::rethrow_exception(current);
  } catch (const std::exception& error) {
    text = error.what();
    copy();
  } catch (const char* message) {
    text = message;
    copy();
  } catch (...) {
    copy();
  }
}

[[noreturn]] void on_terminate() {
  Watch& state = *watch_at_start;
  static std::atomic<bool> writing{false};
  if (!writing.exchange(true)) copy_exception_text(state.exception_text);
  request_and_wait(kUncaught);
  if (state.old_terminate) state.old_terminate();
  std::abort();
}

void install_alternate_stack() {
  stack_t current{};
  if (sigaltstack(nullptr, &current) == 0 && !(current.ss_flags & SS_DISABLE)) return;
  // Kept until the process ends: the thread may fault at any time.
  static thread_local char* memory = nullptr;
  memory = new char[kAlternateStackBytes];
  stack_t stack{};
  stack.ss_sp = memory;
  stack.ss_size = kAlternateStackBytes;
  sigaltstack(&stack, nullptr);
}

void install_signal_handler(int signal) {
  struct sigaction now {};
  if (sigaction(signal, nullptr, &now) != 0) return;
  const bool ours = (now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_signal;
  const bool ignored = !(now.sa_flags & SA_SIGINFO) && now.sa_handler == SIG_IGN;
  if (ours || ignored) return;
  watch().old_actions[signal] = now;
  struct sigaction action {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
}

// A forked child has neither the thread nor descriptors of its own.
void start_in_this_process() {
  Watch& state = watch();
  if (state.process.load() == getpid()) return;
  state.request_fd.store(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  state.raise_fd.store(eventfd(0, EFD_CLOEXEC));
  state.process.store(getpid());
  start_quiet_thread(raise_what_waits_too_long).detach();
}

std::string name_of_cause(int cause) {
  if (cause == kUncaught) return watch().exception_text.data();
  const char* name = sigabbrev_np(cause);
  return name ? std::string("SIG") + name : "signal " + std::to_string(cause);
}

}  // namespace

void watch_for_death(const void* writer) {
  Watch& state = watch();
  std::lock_guard lock(state.installing);
  start_in_this_process();
  state.writer.store(writer);
  install_alternate_stack();
  for (const int signal : kSignals) install_signal_handler(signal);
  if (std::get_terminate() != on_terminate) state.old_terminate = std::set_terminate(on_terminate);
}

void end_death_watch(const void* writer) {
  watch().writer.compare_exchange_strong(writer, nullptr);
}

int death_request_fd() { return watch().request_fd.load(); }

bool death_pending(const void* writer) {
  const Watch& state = watch();
  return state.writer.load() == writer && state.requested.load() != state.acknowledged.load();
}

std::optional<DeathNotice> death_notice(const void* writer) {
  if (!death_pending(writer)) return std::nullopt;
  uint64_t count = 0;
  [[maybe_unused]] const auto got = ::read(death_request_fd(), &count, sizeof count);
  const int cause = watch().cause.load();
  // The number of the request is raised after its cause, so a pending request has one.
  return DeathNotice{
      cause == kUncaught ? trace::CutReason::kException : trace::CutReason::kSignal,
      name_of_cause(cause)};
}

void acknowledge_death() {
  Watch& state = watch();
  const uint32_t requested = state.requested.load();
  state.cause.store(0);
  raise_what_came_from_outside();
  state.acknowledged.store(requested);
}

}  // namespace nanhunt::hooks
