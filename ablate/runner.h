// SPDX-License-Identifier: Apache-2.0
// Runs of the subject as child processes, in a work folder: each under runs/KEY with its capture
// plan, its output and its trace. A run that ended by itself is not repeated; what a run sealed
// before it was stopped stays.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <string>

#include "ablate/child.h"
#include "ablate/ledger.h"
#include "ablate/settings.h"
#include "trace/capture_plan.h"

namespace nanhunt::ablate {

struct RunRequest {
  std::string purpose;  // for messages and the ledger: "failing side"
  Settings settings;
  int64_t steps = 1;
  trace::CapturePlan plan;  // `out` is chosen by the runner
  double timeout_s = 60;
  CapsuleRequest capsules = {};
  int32_t again = 0;  // above 0: a further run of the same, which may come out otherwise
};

struct Run {
  std::string key;
  std::filesystem::path folder;
  std::filesystem::path trace;  // folder of the trace; of the repeats when the plan repeats
  std::filesystem::path capsules() const { return folder / "capsules"; }
  ChildOutcome outcome;
  bool cached = false;

  bool ended_well() const { return outcome.end == ChildEnd::kExited && outcome.status == 0; }
  // "exit status 2: heads 4 is not divisible by tp 3"
  std::string complaint() const;
  // What the recorder told when it could not go on (disk full); "" when it could. On a full disk
  // its words may be lost, too: then it ended well without a trace at `last`, where it wrote last.
  std::string capture_failure(const std::filesystem::path& last) const;
  // Whether there is a trace that can be read, be it cut short.
  bool left_trace() const;
};

// The subject's check, after a run.
struct CheckRun {
  ChildOutcome outcome;
  std::string last_line;  // that it printed: to stderr, else to stdout
};

// A line for the user; `done` of `total` when a known number of trials is under way.
struct Progress {
  std::string text;
  int done = 0;
  int total = 0;
};
using ProgressSink = std::function<void(const Progress&)>;

// Thread safe; equal requests at the same time run once.
class Runner {
 public:
  // `environment` is added to that of each child. `children` outlives the runner.
  Runner(ChildRunner& children, Subject subject, std::filesystem::path build,
         std::filesystem::path work, std::map<std::string, std::string> environment,
         ProgressSink progress);

  Run run(const RunRequest& request);
  // Runs the subject's check on a run of that request, anew each time.
  CheckRun check(const RunRequest& request, const Run& run);
  // All that decides a run but the environment that the children alone are told of.
  std::string program_of(const RunRequest& request) const;
  std::string key_of(const RunRequest& request) const;
  const std::filesystem::path& work() const { return work_; }
  const Subject& subject() const { return subject_; }
  int64_t started() const { return started_; }  // runs that were not cached
  double typical_seconds() const { return ledger_.typical_seconds(); }
  void say(const Progress& progress) const;  // from any thread

 private:
  Run start(const RunRequest& request, const std::string& key);

  ChildRunner& children_;
  Subject subject_;
  std::filesystem::path build_, work_;
  std::map<std::string, std::string> environment_;
  ProgressSink progress_;
  Ledger ledger_;
  std::mutex mutex_;
  std::map<std::string, std::shared_future<Run>> running_;
  std::atomic<int64_t> started_{0};
};

// The build folder that holds this program (BUILD/cli/nanhunt), for the placeholder {build}.
std::filesystem::path own_build_folder();

}  // namespace nanhunt::ablate
