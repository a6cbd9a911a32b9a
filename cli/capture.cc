// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "ablate/effective.h"
#include "ablate/hunt.h"
#include "ablate/own_failure.h"
#include "cli/case_options.h"
#include "cli/command.h"
#include "cli/progress.h"
#include "trace/error.h"

namespace nanhunt::cli {
namespace {

namespace po = boost::program_options;

void print_plan(const CaseSetup& setup, const ablate::Runner& runner,
                const ablate::Settings& settings) {
  const ablate::CommandLine line = ablate::command_line(
      setup.the_case.subject, settings, {setup.build, setup.the_case.steps, "TRACE"});
  std::string words;
  for (const auto& [name, value] : line.environment) words += name + "=" + value + " ";
  for (const std::string& word : line.words) words += word + " ";
  std::printf("command: %s\n", words.c_str());
  std::printf("settings: %s\n", ablate::describe(setup.the_case.subject, settings).c_str());
  std::printf("work folder: %s\n", runner.work().c_str());
  for (const std::string& text :
       ablate::price(setup.the_case, setup.bench, runner.typical_seconds(), setup.jobs)) {
    std::printf("%s\n", text.c_str());
  }
}

// What the reader finds: steps, ranks, rows.
void print_contents(const ablate::Run& run) {
  const trace::TraceReader reader(run.trace);
  int64_t rows = 0, bytes = 0;
  for (const int64_t step : reader.steps()) {
    rows += static_cast<int64_t>(reader.read_step(step).records.size());
    for (const trace::RankProgress& rank : reader.progress(step)) {
      bytes += rank.bytes;
      const std::string cut = trace::describe_progress(rank);
      if (!cut.empty()) std::printf("step %ld: %s\n", static_cast<long>(step), cut.c_str());
    }
  }
  std::printf("trace: %s\n%zu steps, %d ranks, %ld records, %ld bytes, %.1f s%s\n",
              run.trace.c_str(), reader.steps().size(), reader.world_size(),
              static_cast<long>(rows), static_cast<long>(bytes), run.outcome.seconds,
              run.cached ? " (an earlier run)" : "");
}

// Of a subject that tells failures itself; the exit status follows.
int print_outcome(const ablate::OwnOutcome& outcome) {
  std::printf("%s\n", outcome.text.c_str());
  if (outcome.result == ablate::TrialResult::kUnresolved) return kCannotTell;
  return outcome.result == ablate::TrialResult::kFail ? 1 : 0;
}

}  // namespace

int capture_command(const std::vector<std::string>& arguments) {
  po::options_description options = case_options();
  options.add_options()("plan", po::bool_switch(), "print command and price, run nothing")(
      "reference", po::bool_switch(), "the reference side instead of the failing one");
  const Parsed parsed = parse_options("capture", arguments, options, {"CASE"});
  if (parsed.wants_help) return 0;
  const CaseSetup setup = set_up_case(parsed);
  const bool reference = parsed.flag("reference");
  const ablate::Settings& settings = reference ? setup.the_case.reference : setup.the_case.failing;
  ProgressPrinter progress;
  ablate::ChildRunner children(setup.jobs);
  ablate::Runner runner(children, setup.the_case.subject, setup.build, setup.work,
                        setup.environment, progress.sink());
  if (parsed.flag("plan")) {
    print_plan(setup, runner, settings);
    return 0;
  }
  ablate::RunRequest request;
  request.purpose = reference ? "reference" : "failing side";
  request.settings = settings;
  request.steps = setup.the_case.steps;
  request.timeout_s = setup.the_case.timeout_s;
  request.plan.level =
      setup.the_case.level == ablate::CaseLevel::kFull ? trace::Level::kFull : trace::Level::kStats;
  const ablate::Run run = runner.run(request);
  if (ablate::tells_failure_itself(setup.the_case.subject) && !run.left_trace()) {
    std::printf("no trace; output: %s\n", run.folder.c_str());
    return print_outcome(ablate::own_outcome(runner, request, run));
  }
  const bool refused = run.outcome.end == ablate::ChildEnd::kNotStarted ||
                       (run.outcome.end == ablate::ChildEnd::kExited && run.outcome.status == 2);
  if (refused) throw trace::Error(trace::ErrorKind::kUsage, "the subject: " + run.complaint());
  print_contents(run);
  if (!run.ended_well()) {
    throw trace::Error(trace::ErrorKind::kUnreadable, "the subject: " + run.complaint());
  }
  for (const auto& difference :
       ablate::check_effective(setup.the_case.subject, settings, trace::TraceReader(run.trace))) {
    std::printf("no effect: %s\n", ablate::describe(difference).c_str());
  }
  return 0;
}

}  // namespace nanhunt::cli
