// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <boost/program_options.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "capsule/capsule.h"
#include "capsule/name.h"
#include "cli/case_options.h"
#include "cli/command.h"
#include "cli/progress.h"
#include "cli/scan_checkpoint.h"
#include "compare/judge.h"
#include "trace/error.h"

namespace nanhunt::cli {
namespace {

namespace po = boost::program_options;

const std::string kArgument = "TRACE|CHECKPOINT";

// On the command line; what the environment sets for other commands is no mistake here.
bool written(const std::vector<std::string>& arguments, const std::string& option) {
  return std::any_of(arguments.begin(), arguments.end(), [&](const std::string& word) {
    return word == "--" + option || word.starts_with("--" + option + "=");
  });
}

void refuse_options(const std::vector<std::string>& arguments,
                    const std::vector<std::string>& others, const std::string& why) {
  for (const std::string& option : others) {
    if (written(arguments, option))
      throw trace::Error(trace::ErrorKind::kUsage, "--" + option + " " + why);
  }
}

int scan_trace(const std::vector<std::string>& arguments, const Parsed& parsed) {
  const capsule::Name name = capsule::parse_name(parsed.text(kArgument));
  if (capsule::holds_capsule(name.folder, name.step))
    return scan_capsule(parsed, parsed.text(kArgument));
  if (parsed.flag("no-values"))
    throw trace::Error(trace::ErrorKind::kUsage,
                       "--no-values is for capsules, and " + name.folder.string() + " is a trace");
  const trace::TraceReader trace(name.folder);
  if (name.step >= 0)
    throw trace::Error(trace::ErrorKind::kUsage,
                       "@STEP is for capsules, and " + name.folder.string() + " is a trace");
  refuse_options(arguments, {"before", "rules"},
                 "is for checkpoints and capsules, and this is a trace");
  const oracle::Thresholds thresholds = read_thresholds(parsed);
  ProgressPrinter progress;
  compare::JudgeOptions judge;
  judge.replay = !parsed.flag("no-replay");
  judge.exploratory = parsed.has("thresholds");
  judge.progress = [&](const std::string& line) { progress.print({line}); };
  const compare::Verdict verdict = compare::scan(trace, thresholds, judge);
  if (parsed.flag("json")) {
    std::printf("%s\n", compare::to_json(verdict).dump(2).c_str());
  } else {
    std::fputs(compare::to_text(verdict).c_str(), stdout);
  }
  return compare::exit_status(verdict);
}

}  // namespace

int scan_command(const std::vector<std::string>& arguments) {
  po::options_description options("options");
  options.add_options()(
      "before", po::value<std::string>(),
      "checkpoint or capsule: an older one of the same run; what did not move is told")(
      "rules", po::value<std::string>(), "checkpoint: which tensors are copies (JSON)")(
      "thresholds", po::value<std::string>(), "trace: other thresholds; the result is exploratory")(
      "no-replay", po::bool_switch(), "trace: do not compute ops again that were captured in full")(
      "no-values", po::bool_switch(), "capsule: do not read the values against their digests")(
      "json", po::bool_switch(), "result as JSON")("bisect", po::bool_switch(),
                                                   "exit status for `git bisect run`")(
      "no-pickles", po::bool_switch(),
      "checkpoint: leave pickle files unread, though NANHUNT_PYTHON names a Python");
  const Parsed parsed = parse_options("scan", arguments, options, {kArgument});
  if (parsed.wants_help) return 0;
  const capsule::Name name = capsule::parse_name(parsed.text(kArgument));
  const Scanned kind = name.step < 0 ? what_to_scan(name.folder) : Scanned::kTrace;
  if (kind == Scanned::kTrace) return scan_trace(arguments, parsed);
  refuse_options(arguments, {"thresholds", "no-replay"}, "is for traces, and this is a checkpoint");
  refuse_options(arguments, {"no-values"}, "is for capsules, and this is a checkpoint");
  return scan_checkpoint(parsed, parsed.text(kArgument));
}

}  // namespace nanhunt::cli
