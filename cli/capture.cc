// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <nlohmann/json.hpp>
#include <sstream>

#include "ablate/effective.h"
#include "ablate/own_failure.h"
#include "ablate/runner.h"
#include "cli/capture_price.h"
#include "cli/case_options.h"
#include "cli/command.h"
#include "cli/progress.h"
#include "trace/error.h"

namespace nanhunt::cli {
namespace {

namespace po = boost::program_options;

// Two steps, so that the time of one can be told from the start of the program.
constexpr int64_t kPricedSteps = 2;

std::string command_text(const CaseSetup& setup, const ablate::Settings& settings) {
  const ablate::CommandLine line = ablate::command_line(
      setup.the_case.subject, settings, {setup.build, setup.the_case.steps, "TRACE"});
  std::string words;
  for (const auto& [name, value] : line.environment) words += name + "=" + value + " ";
  for (const std::string& word : line.words) words += word + " ";
  return words;
}

void check_it_ran(const ablate::Run& run) {
  const bool refused = run.outcome.end == ablate::ChildEnd::kNotStarted ||
                       (run.outcome.end == ablate::ChildEnd::kExited && run.outcome.status == 2);
  if (refused) throw trace::Error(trace::ErrorKind::kUsage, "the subject: " + run.complaint());
}

void print_price(const CaseSetup& setup, ablate::Runner& runner, ablate::RunRequest request,
                 bool as_json) {
  const PricedCapture capture{setup.the_case.steps, request.plan.ring};
  request.purpose += ", priced";
  request.steps = kPricedSteps;
  request.plan = {};
  const ablate::Run run = runner.run(request);
  check_it_ran(run);
  if (const std::string failure = run.capture_failure(run.trace); !failure.empty())
    throw trace::Error(trace::ErrorKind::kUnreadable, failure);
  const CapturePrice price = price_of(trace::TraceReader(run.trace));
  const std::string settings = ablate::describe(setup.the_case.subject, request.settings);
  const std::string command = command_text(setup, request.settings);
  if (as_json) {
    nlohmann::json json = to_json(price, capture);
    json["command"] = command;
    json["settings"] = settings;
    json["work"] = runner.work().string();
    std::printf("%s\n", json.dump(2).c_str());
    return;
  }
  std::printf("command: %s\nsettings: %s\nwork folder: %s\n%s", command.c_str(), settings.c_str(),
              runner.work().c_str(), to_text(price, capture).c_str());
}

std::vector<trace::Trigger> triggers_of(const std::string& list) {
  std::vector<trace::Trigger> triggers;
  std::istringstream words(list);
  for (std::string word; std::getline(words, word, ',');) {
    const auto trigger = trace::trigger_from_text(word);
    if (!trigger)
      throw trace::Error(trace::ErrorKind::kUsage,
                         "--trigger: no trigger '" + word + "'; there are " +
                             std::string(trace::kTriggerWords) +
                             " (any factor above 1; put the list in quotes, > is the shell's)");
    triggers.push_back(*trigger);
  }
  return triggers;
}

void set_ring(const Parsed& parsed, trace::CapturePlan& plan) {
  if (parsed.has("ring")) plan.ring = parsed.values["ring"].as<int32_t>();
  if (parsed.has("ring") && plan.ring < 1)
    throw trace::Error(trace::ErrorKind::kUsage, "--ring is not positive");
  if (parsed.has("trigger") && plan.ring == 0)
    throw trace::Error(trace::ErrorKind::kUsage, "--trigger needs --ring: how many steps to keep");
  if (plan.ring == 0) return;
  plan.triggers =
      parsed.has("trigger") ? triggers_of(parsed.text("trigger")) : trace::default_triggers();
}

// What a ring waited for and what it met: "" when there was none.
std::string ring_text(const trace::TraceReader& reader) {
  namespace fact = trace::ring_fact;
  const auto& facts = reader.facts().front().facts;
  const auto value = [&](const char* name) {
    const auto found = facts.find(name);
    return found == facts.end() ? std::string() : found->second;
  };
  const std::string trigger = value(fact::kTrigger);
  if (trigger.empty()) return "";
  const std::string unmatched = value(fact::kUnmatched);
  return (trigger == "none"
              ? "ring: " + value(fact::kStepsSeen) + " steps watched, no trigger fired"
              : "ring: " + trigger + " fired in step " + value(fact::kTriggerStep) + ": " +
                    value(fact::kDetail)) +
         (unmatched.empty() ? "" : "; no record for " + unmatched);
}

// What the reader finds: steps, ranks, rows. Returns how many rows.
int64_t print_contents(const ablate::Run& run) {
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
  if (const std::string ring = ring_text(reader); !ring.empty()) std::printf("%s\n", ring.c_str());
  return rows;
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
  options.add_options()("plan", po::bool_switch(), "run two steps and print what a capture costs")(
      "reference", po::bool_switch(), "the reference side instead of the failing one")(
      "ring", po::value<int32_t>(), "keep the last N steps in memory, write them on a trigger")(
      "trigger", po::value<std::string>()->value_name("LIST"),
      "'nonfinite,loss>2x,gnorm>10x,exit' or some of them (default: nonfinite,exit)");
  const Parsed parsed = parse_options("capture", arguments, options, {"CASE"});
  if (parsed.wants_help) return 0;
  const CaseSetup setup = set_up_case(parsed);
  const bool reference = parsed.flag("reference");
  const ablate::Settings& settings = reference ? setup.the_case.reference : setup.the_case.failing;
  ProgressPrinter progress;
  ablate::ChildRunner children(setup.jobs);
  ablate::Runner runner(children, setup.the_case.subject, setup.build, setup.work,
                        setup.environment, progress.sink());
  ablate::RunRequest request;
  request.purpose = reference ? "reference" : "failing side";
  request.settings = settings;
  request.steps = setup.the_case.steps;
  request.timeout_s = setup.the_case.timeout_s;
  request.plan.level =
      setup.the_case.level == ablate::CaseLevel::kFull ? trace::Level::kFull : trace::Level::kStats;
  set_ring(parsed, request.plan);
  if (parsed.flag("plan")) {
    print_price(setup, runner, request, parsed.flag("json"));
    return 0;
  }
  const ablate::Run run = runner.run(request);
  if (ablate::tells_failure_itself(setup.the_case.subject) && !run.left_trace()) {
    std::printf("no trace; output: %s\n", run.folder.c_str());
    return print_outcome(ablate::own_outcome(runner, request, run));
  }
  check_it_ran(run);
  const int64_t rows = print_contents(run);
  if (!run.ended_well()) {
    throw trace::Error(trace::ErrorKind::kUnreadable, "the subject: " + run.complaint());
  }
  if (rows == 0) return 0;  // a ring that nothing wrote
  for (const auto& difference :
       ablate::check_effective(setup.the_case.subject, settings, trace::TraceReader(run.trace))) {
    std::printf("no effect: %s\n", ablate::describe(difference).c_str());
  }
  return 0;
}

}  // namespace nanhunt::cli
