// SPDX-License-Identifier: Apache-2.0
#include "cli/golden_runs.h"

#include <boost/program_options.hpp>

#include "cli/progress.h"
#include "trace/error.h"

namespace nanhunt::cli {
namespace {

namespace fs = std::filesystem;

// The next one that is not there yet.
fs::path new_folder(const fs::path& work) {
  const fs::path parent = work / "golden";
  std::error_code failed;
  fs::create_directories(parent, failed);
  for (int number = 1; !failed; ++number) {
    const fs::path folder = parent / ("run-" + std::to_string(number));
    if (fs::create_directory(folder, failed)) return folder;
  }
  throw trace::Error(trace::ErrorKind::kInternal,
                     parent.string() + ": cannot be made: " + failed.message());
}

fs::path run_once(const CaseSetup& setup, ProgressPrinter& progress, const std::string& purpose,
                  bool must_end_well) {
  ablate::ChildRunner children(setup.jobs);
  ablate::Runner runner(children, setup.the_case.subject, setup.build, new_folder(setup.work),
                        setup.environment, progress.sink());
  const ablate::Bench bench(setup.the_case, setup.thresholds, runner, setup.bench);
  ablate::Scope scope;
  scope.steps = setup.the_case.steps;
  scope.level =
      setup.the_case.level == ablate::CaseLevel::kFull ? trace::Level::kFull : trace::Level::kStats;
  progress.print({purpose});
  const ablate::Run run = runner.run(bench.request(purpose, setup.the_case.failing, scope));
  const bool refused = run.outcome.end == ablate::ChildEnd::kNotStarted ||
                       (run.outcome.end == ablate::ChildEnd::kExited && run.outcome.status == 2);
  if (refused)
    throw trace::Error(trace::ErrorKind::kUsage, purpose + ": the subject: " + run.complaint());
  if (!run.left_trace())
    throw trace::Error(trace::ErrorKind::kUnreadable,
                       purpose + ": no trace at " + run.trace.string());
  if (must_end_well && !run.ended_well())
    throw trace::Error(trace::ErrorKind::kUnreadable, purpose + ": " + run.complaint());
  return run.trace;
}

}  // namespace

GoldenRuns golden_runs(Parsed& parsed, const std::vector<std::string>& given, int runs) {
  if (given.size() > 1 || fs::is_directory(given.front())) {
    return {{given.begin(), given.end()}, read_thresholds(parsed), false};
  }
  parsed.values.insert({"CASE", boost::program_options::variable_value(given.front(), false)});
  const CaseSetup setup = set_up_case(parsed);
  GoldenRuns made{{}, setup.thresholds, true};
  ProgressPrinter progress;
  for (int run = 1; run <= runs; ++run) {
    const std::string purpose = "run " + std::to_string(run) + " of " + std::to_string(runs);
    made.traces.push_back(run_once(setup, progress, purpose, runs > 1));
  }
  return made;
}

}  // namespace nanhunt::cli
