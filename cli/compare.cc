// SPDX-License-Identifier: Apache-2.0
#include <boost/program_options.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/case_options.h"
#include "cli/command.h"
#include "cli/progress.h"
#include "compare/judge.h"

namespace nanhunt::cli {
namespace {

namespace po = boost::program_options;

po::options_description options_of_compare() {
  po::options_description options("options");
  options.add_options()("same-layout", po::bool_switch(),
                        "rank by rank, first bit difference; needs no placements")(
      "rules", po::value<std::string>(), "rules file, applied to the reference's names")(
      "envelope", po::value<std::string>(), "envelope of an earlier calibration")(
      "intended", po::value<std::vector<std::string>>()->composing(),
      "a semantic change that is meant, as a verdict names it: gelu.tanh")(
      "thresholds", po::value<std::string>(), "other thresholds; the result is exploratory")(
      "no-replay", po::bool_switch(), "do not compute ops again that were captured in full")(
      "json", po::bool_switch(), "result as JSON")("bisect", po::bool_switch(),
                                                   "exit status for `git bisect run`");
  return options;
}

}  // namespace

int compare_command(const std::vector<std::string>& arguments) {
  const Parsed parsed =
      parse_options("compare", arguments, options_of_compare(), {"TRACE", "REFERENCE"});
  if (parsed.wants_help) return 0;
  const oracle::Thresholds thresholds = read_thresholds(parsed);
  std::optional<trace::RulesFile> rules;
  std::optional<oracle::Envelope> envelope;
  if (parsed.has("rules")) rules = trace::read_rules_file(parsed.text("rules"));
  if (parsed.has("envelope")) envelope = oracle::read_envelope(parsed.text("envelope"));
  ProgressPrinter progress;
  compare::JudgeOptions judge;
  judge.same_layout = parsed.flag("same-layout");
  judge.replay = !parsed.flag("no-replay");
  judge.rules = rules ? &*rules : nullptr;
  judge.envelope = envelope ? &*envelope : nullptr;
  judge.exploratory = parsed.has("thresholds");
  if (parsed.has("intended"))
    judge.intended = parsed.values["intended"].as<std::vector<std::string>>();
  judge.progress = [&](const std::string& line) { progress.print({line}); };
  const trace::TraceReader candidate(parsed.text("TRACE"));
  const trace::TraceReader reference(parsed.text("REFERENCE"));
  const compare::Verdict verdict = compare::compare_traces(candidate, reference, thresholds, judge);
  if (parsed.flag("json")) {
    std::printf("%s\n", compare::to_json(verdict).dump(2).c_str());
  } else {
    std::fputs(compare::to_text(verdict).c_str(), stdout);
  }
  return compare::exit_status(verdict);
}

}  // namespace nanhunt::cli
