// SPDX-License-Identifier: Apache-2.0
// Child processes with a time-out. Each gets a process group of its own, so that ranks it started
// end with it; output goes to files. On time-out the group is asked to end (SIGTERM: a recorder
// seals what it holds), and killed 3 s later.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace nanhunt::ablate {

struct ChildSpec {
  std::vector<std::string> words;  // program (path, or name looked up in PATH), arguments
  std::map<std::string, std::string> environment;  // added to this process's own
  std::filesystem::path output;                    // file for stdout
  std::filesystem::path errors;                    // file for stderr
  double timeout_s = 60;
  std::filesystem::path folder = {};  // working directory; "": that of this process
};

enum class ChildEnd { kExited, kSignalled, kTimedOut, kNotStarted };

struct ChildOutcome {
  ChildEnd end = ChildEnd::kNotStarted;
  int status = 0;  // exit status, or number of the signal
  double seconds = 0;
  std::string detail;  // why it could not start
};

// "exit status 2", "killed by SIGSEGV", "no end after 30 s", "cannot start: ..."
std::string describe(const ChildOutcome& outcome);
// Last lines of a text file, for messages; "" when there is none.
std::string tail_of(const std::filesystem::path& file, size_t lines);

// Runs children on one event loop. Thread safe: run() may be called from several threads at once
// and returns when its child has ended. SIGINT and SIGTERM of this process end all running children
// first.
class ChildRunner {
 public:
  // Runs at most so many children at a time, whoever asks; 0: as many as are asked for.
  explicit ChildRunner(int at_a_time = 0);
  ~ChildRunner();
  ChildRunner(const ChildRunner&) = delete;
  ChildRunner& operator=(const ChildRunner&) = delete;

  ChildOutcome run(const ChildSpec& spec);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace nanhunt::ablate
