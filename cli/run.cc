// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <nlohmann/json.hpp>

#include "ablate/trials_json.h"
#include "cli/case_options.h"
#include "cli/command.h"
#include "cli/progress.h"
#include "compare/verdict.h"

namespace nanhunt::cli {

int run_command(const std::vector<std::string>& arguments) {
  const Parsed parsed = parse_options("run", arguments, case_options(), {"CASE"});
  if (parsed.wants_help) return 0;
  const CaseSetup setup = set_up_case(parsed);
  ProgressPrinter progress;
  ablate::ChildRunner children(setup.jobs);
  ablate::Runner runner(children, setup.the_case.subject, setup.build, setup.work,
                        setup.environment, progress.sink());
  for (const std::string& line :
       ablate::price(setup.the_case, setup.bench, runner.typical_seconds(), setup.jobs)) {
    runner.say({line});
  }
  ablate::Bench bench(setup.the_case, setup.thresholds, runner, setup.bench);
  const ablate::Hunt result =
      ablate::hunt(bench, {.jobs = setup.jobs, .ablate = true, .case_name = parsed.text("CASE")});
  runner.say({"result: " + (runner.work() / "verdict.json").string()});
  if (parsed.flag("json")) {
    std::printf("%s\n", ablate::to_json(result).dump(2).c_str());
  } else {
    std::fputs(compare::to_text(result.verdict).c_str(), stdout);
  }
  return compare::exit_status(result.verdict);
}

}  // namespace nanhunt::cli
