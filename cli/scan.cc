// SPDX-License-Identifier: Apache-2.0
#include <boost/program_options.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/case_options.h"
#include "cli/command.h"
#include "cli/progress.h"
#include "compare/judge.h"

namespace nanhunt::cli {

namespace po = boost::program_options;

int scan_command(const std::vector<std::string>& arguments) {
  po::options_description options("options");
  options.add_options()("thresholds", po::value<std::string>(),
                        "other thresholds; the result is exploratory")(
      "no-replay", po::bool_switch(), "do not compute ops again that were captured in full")(
      "json", po::bool_switch(), "result as JSON")("bisect", po::bool_switch(),
                                                   "exit status for `git bisect run`");
  const Parsed parsed = parse_options("scan", arguments, options, {"TRACE"});
  if (parsed.wants_help) return 0;
  const oracle::Thresholds thresholds = read_thresholds(parsed);
  ProgressPrinter progress;
  compare::JudgeOptions judge;
  judge.replay = !parsed.flag("no-replay");
  judge.exploratory = parsed.has("thresholds");
  judge.progress = [&](const std::string& line) { progress.print({line}); };
  const trace::TraceReader trace(parsed.text("TRACE"));
  const compare::Verdict verdict = compare::scan(trace, thresholds, judge);
  if (parsed.flag("json")) {
    std::printf("%s\n", compare::to_json(verdict).dump(2).c_str());
  } else {
    std::fputs(compare::to_text(verdict).c_str(), stdout);
  }
  return compare::exit_status(verdict);
}

}  // namespace nanhunt::cli
