// SPDX-License-Identifier: Apache-2.0
#include "ablate/child.h"

// clang-format off
#include <utility>  // Asio 1.18 uses std::exchange without it
// clang-format on

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio.hpp>
#include <boost/process.hpp>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <deque>
#include <fstream>
#include <future>
#include <limits>
#include <semaphore>
#include <set>
#include <thread>

#include "ablate/process_tree.h"

namespace nanhunt::ablate {
namespace {

namespace bp = boost::process;
namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

constexpr auto kGrace = std::chrono::seconds(3);

// One child from start to end; lives on the event loop's thread, kept alive by its handlers.
struct Running : std::enable_shared_from_this<Running> {
  Running(asio::io_context& context, const ChildSpec& its_spec, std::set<pid_t>& running_groups)
      : spec(its_spec), timer(context), exit_event(context), groups(running_groups) {}

  ChildSpec spec;
  asio::steady_timer timer;
  // A process descriptor, readable when the child has ended: unlike SIGCHLD it cannot be missed.
  asio::posix::stream_descriptor exit_event;
  std::set<pid_t>& groups;  // of all running children
  pid_t pid = -1;           // and of its group
  Clock::time_point started;
  std::vector<Process> tree;  // what it had started when it was asked to end
  bool timed_out = false;
  bool ended = false;
  std::promise<ChildOutcome> outcome;

  void start();
  void spawn();
  void await_end();
  void await_exit();
  void finish(int wait_status);
  void watch();
  void terminate();
};

void Running::start() {
  started = Clock::now();
  try {
    spawn();
    groups.insert(pid);
    await_end();
    watch();
  } catch (const std::exception& error) {
    ended = true;
    ChildOutcome failed;
    failed.detail = error.what();
    outcome.set_value(failed);
  }
}

void Running::spawn() {
  const std::string& name = spec.words.front();
  const auto program =
      name.find('/') == std::string::npos ? bp::search_path(name) : boost::filesystem::path(name);
  if (program.empty()) throw std::runtime_error("'" + name + "' is not in PATH");
  bp::environment environment = boost::this_process::environment();
  // Not by [], which compares with entries shorter than the key beyond their end (Boost 1.74).
  for (const auto& [key, value] : spec.environment) environment.set(key, value);
  const std::vector<std::string> arguments(spec.words.begin() + 1, spec.words.end());
  bp::group group;
  const std::string folder = spec.folder.empty() ? "." : spec.folder.string();
  // Boost.Process would run it where we are.
  if (!std::filesystem::is_directory(folder)) throw std::runtime_error("no folder " + folder);
  bp::child child(bp::exe = program, bp::args = arguments, bp::start_dir = folder, environment,
                  group, bp::std_in<bp::null, bp::std_out> spec.output.string(),
                  bp::std_err > spec.errors.string());
  pid = child.id();
  child.detach();
  group.detach();
}

void Running::await_end() {
  const auto descriptor = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  if (descriptor < 0) {
    const std::string why = std::strerror(errno);
    ::kill(-pid, SIGKILL);
    throw std::runtime_error("cannot be watched: " + why);
  }
  exit_event.assign(descriptor);
  await_exit();
}

// A wake-up may be meant for an earlier child, whose descriptor had the same number: only waitpid
// tells, and it must not block the loop.
void Running::await_exit() {
  exit_event.async_wait(asio::posix::stream_descriptor::wait_read,
                        [self = shared_from_this()](const boost::system::error_code& error) {
                          if (error) return;
                          int status = 0;
                          const pid_t gone = ::waitpid(self->pid, &status, WNOHANG);
                          if (gone == 0) self->await_exit();
                          if (gone == self->pid) self->finish(status);
                        });
}

void Running::finish(int wait_status) {
  if (ended) return;
  ended = true;
  timer.cancel();
  // Ranks that outlived the launcher end with it.
  ::kill(-pid, SIGKILL);
  kill_all(tree);
  groups.erase(pid);
  ChildOutcome result;
  result.seconds = std::chrono::duration<double>(Clock::now() - started).count();
  result.end = timed_out                  ? ChildEnd::kTimedOut
               : WIFSIGNALED(wait_status) ? ChildEnd::kSignalled
                                          : ChildEnd::kExited;
  result.status = WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
  outcome.set_value(result);
}

void Running::watch() {
  timer.expires_after(
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(spec.timeout_s)));
  timer.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
    if (!error && !self->ended) self->terminate();
  });
}

void Running::terminate() {
  timed_out = true;
  tree = descendants(pid);
  ::kill(-pid, SIGTERM);
  timer.expires_after(kGrace);
  timer.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
    if (!error && !self->ended) ::kill(-self->pid, SIGKILL);
  });
}

}  // namespace

struct ChildRunner::Impl {
  explicit Impl(int at_a_time)
      : places(at_a_time > 0 ? at_a_time : std::numeric_limits<int>::max()) {}

  std::counting_semaphore<std::numeric_limits<int>::max()> places;
  asio::io_context context;
  asio::executor_work_guard<asio::io_context::executor_type> work{context.get_executor()};
  asio::signal_set signals{context, SIGINT, SIGTERM};
  std::set<pid_t> groups;
  std::thread thread;

  void end_with(int signal) {
    for (const pid_t group : groups) {
      const std::vector<Process> tree = descendants(group);
      ::kill(-group, SIGKILL);
      kill_all(tree);
    }
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
};

ChildRunner::ChildRunner(int at_a_time) : impl_(std::make_unique<Impl>(at_a_time)) {
  impl_->signals.async_wait(
      [impl = impl_.get()](const boost::system::error_code& error, int number) {
        if (!error) impl->end_with(number);
      });
  impl_->thread = std::thread([impl = impl_.get()] { impl->context.run(); });
}

ChildRunner::~ChildRunner() {
  asio::post(impl_->context, [impl = impl_.get()] { impl->signals.cancel(); });
  impl_->work.reset();
  impl_->thread.join();
}

ChildOutcome ChildRunner::run(const ChildSpec& spec) {
  const auto running = std::make_shared<Running>(impl_->context, spec, impl_->groups);
  std::future<ChildOutcome> outcome = running->outcome.get_future();
  impl_->places.acquire();
  asio::post(impl_->context, [running] { running->start(); });
  outcome.wait();
  impl_->places.release();
  return outcome.get();
}

std::string describe(const ChildOutcome& outcome) {
  switch (outcome.end) {
    case ChildEnd::kExited:
      return "exit status " + std::to_string(outcome.status);
    case ChildEnd::kSignalled: {
      const char* name = ::sigabbrev_np(outcome.status);
      return "killed by " + (name ? std::string("SIG") + name : std::to_string(outcome.status));
    }
    case ChildEnd::kTimedOut:
      return "no end within its time limit (ended after " +
             std::to_string(static_cast<int64_t>(outcome.seconds)) + " s)";
    case ChildEnd::kNotStarted:
      return "cannot start: " + outcome.detail;
  }
  return "";
}

std::string tail_of(const std::filesystem::path& file, size_t lines) {
  std::ifstream stream(file);
  std::deque<std::string> last;
  for (std::string line; std::getline(stream, line);) {
    if (line.empty()) continue;
    last.push_back(line);
    if (last.size() > lines) last.pop_front();
  }
  std::string text;
  for (const std::string& line : last) text += (text.empty() ? "" : "\n") + line;
  return text;
}

}  // namespace nanhunt::ablate
