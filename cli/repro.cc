// SPDX-License-Identifier: Apache-2.0
#include <boost/program_options.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

#include "ablate/shell_words.h"
#include "capsule/name.h"
#include "checkpoint/layout.h"
#include "cli/case_options.h"
#include "cli/command.h"
#include "cli/conversion.h"
#include "cli/paired_options.h"
#include "cli/progress.h"
#include "cli/repro_convergence.h"
#include "cli/scan_checkpoint.h"
#include "repro/question.h"
#include "repro/run_pair.h"
#include "repro/state_report.h"
#include "trace/error.h"

namespace nanhunt::cli {
namespace {

namespace po = boost::program_options;

repro::Report report_on_runs(const Parsed& parsed) {
  return repro::trace_and_trace(parsed.text("CASE"), parsed.text("B"), read_thresholds(parsed));
}

// A capsule, FOLDER or FOLDER@STEP, or a checkpoint of another program.
repro::State open_state(const std::string& text) {
  const capsule::Name name = capsule::parse_name(text);
  const Scanned kind = name.step < 0 ? what_to_scan(name.folder) : Scanned::kTrace;
  if (kind == Scanned::kPickles && holds_conversion(name.folder))
    throw trace::Error(trace::ErrorKind::kUsage,
                       name.folder.string() + " holds several capsules: name one, " +
                           name.folder.string() + "@STEP or one below parts");
  if (kind == Scanned::kPickles)
    throw trace::Error(trace::ErrorKind::kUsage, checkpoint::why_no_checkpoint(name.folder));
  if (kind == Scanned::kTrace) return repro::open_capsule_state(name.folder, name.step);
  return repro::open_checkpoint_state(name.folder);
}

repro::Report report_on_states(const Parsed& parsed) {
  const repro::State a = open_state(parsed.text("CASE")), b = open_state(parsed.text("B"));
  return repro::state_and_state(a, b, read_thresholds(parsed));
}

// Registered before the first run: what the curves are judged by, and what it costs.
void announce(const ablate::Case& the_case, const repro::PairedPlan& plan) {
  std::fprintf(stderr, "nanhunt: convergence: %s\nnanhunt: thresholds of convergence %s\n",
               repro::price_text(the_case, plan).c_str(), sha256(plan.criteria).c_str());
}

// The command as it was given.
std::string command_of(const std::vector<std::string>& arguments) {
  std::vector<std::string> words{"nanhunt", "repro"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return ablate::quoted(words);
}

// What is asked for, else what the case asks.
ablate::Question question_of(const Parsed& parsed, const ablate::Case& the_case) {
  std::optional<ablate::Question> asked;
  for (const char* question : {"resume", "layouts", "again", "upgrade"}) {
    if (!parsed.flag(question)) continue;
    if (asked)
      throw trace::Error(trace::ErrorKind::kUsage,
                         "--resume, --layouts, --again and --upgrade are one question each");
    asked = ablate::question_from_name(question);
  }
  return asked.value_or(the_case.repro);
}

repro::Report report_on_case(const Parsed& parsed, const std::string& command) {
  CaseSetup setup = set_up_case(parsed);
  setup.the_case.repro = question_of(parsed, setup.the_case);
  set_convergence(parsed, setup.the_case.convergence);
  auto plan = paired_plan(setup.the_case, parsed, setup.jobs);
  if (plan) {
    plan->again = command;
    announce(setup.the_case, *plan);
  }
  ProgressPrinter progress;
  ablate::ChildRunner children(setup.jobs);
  ablate::Runner runner(children, setup.the_case.subject, setup.build, setup.work,
                        setup.environment, progress.sink());
  ablate::Bench bench(setup.the_case, setup.thresholds, runner, setup.bench);
  std::optional<int64_t> at;
  if (parsed.has("at")) at = parsed.values["at"].as<int64_t>();
  return repro::answer(setup.the_case.repro, bench, setup.thresholds, at, plan);
}

}  // namespace

int repro_command(const std::vector<std::string>& arguments) {
  if (wants_convergence(arguments)) return repro_convergence(arguments);
  po::options_description options = case_options();
  options.add_options()("at", po::value<int64_t>(),
                        "step at which the state is saved (default: half the steps)")(
      "resume", po::bool_switch(), "save and resume (default, unless the case asks another)")(
      "layouts", po::bool_switch(), "resume in the layout of the reference side")(
      "again", po::bool_switch(), "the failing side twice")(
      "upgrade", po::bool_switch(), "reference side: the old build; failing side: the new one")(
      "runs", po::bool_switch(), "two traces, or folders of runs, that are there already")(
      "state", po::bool_switch(),
      "two capsules, FOLDER or FOLDER@STEP, or checkpoints: their state alone");
  options.add(paired_options());
  const Parsed parsed = parse_options("repro", arguments, options, {"CASE", "B?"});
  if (parsed.wants_help) return 0;
  const bool state = parsed.flag("state"), runs = parsed.flag("runs");
  if ((state && runs) || (state || runs) != parsed.has("B"))
    throw trace::Error(trace::ErrorKind::kUsage,
                       "repro takes a case, or --state and two capsules or checkpoints, or --runs "
                       "and two traces, or --pair A=B ...");
  const repro::Report report = state  ? report_on_states(parsed)
                               : runs ? report_on_runs(parsed)
                                      : report_on_case(parsed, command_of(arguments));
  if (parsed.flag("json")) {
    std::printf("%s\n", repro::to_json(report).dump(2).c_str());
  } else {
    std::fputs(repro::to_text(report).c_str(), stdout);
  }
  return repro::exit_status(report);
}

}  // namespace nanhunt::cli
