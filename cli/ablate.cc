// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <nlohmann/json.hpp>

#include "ablate/trials_json.h"
#include "cli/case_options.h"
#include "cli/command.h"
#include "cli/progress.h"
#include "compare/verdict.h"

namespace nanhunt::cli {
namespace {

void print_table(const ablate::Hunt& hunt) {
  const compare::Verdict& verdict = hunt.verdict;
  if (verdict.origins.empty() && verdict.kind != compare::VerdictKind::kFails) {
    std::printf("nothing to explain: %s%s\n", std::string(compare::name_of(verdict.kind)).c_str(),
                verdict.reason.empty() ? "" : (": " + verdict.reason).c_str());
    return;
  }
  std::printf("failure: %s\n", verdict.origins.empty()
                                   ? verdict.reason.c_str()
                                   : trace::describe(verdict.origins.front().finding.what).c_str());
  for (const ablate::TrialRow& trial : hunt.trials) {
    std::printf("  %-40s %-10s %5.1f s  %s\n", trial.name.c_str(),
                ablate::name_of(trial.verdict.result).data(), trial.seconds,
                trial.verdict.reason.c_str());
  }
  if (verdict.cause) std::printf("cause: %s\n", verdict.cause->statement.c_str());
}

nlohmann::json table_json(const ablate::Hunt& hunt) {
  return {{"trials", ablate::to_json(hunt.trials)}, {"verdict", compare::to_json(hunt.verdict)}};
}

}  // namespace

int ablate_command(const std::vector<std::string>& arguments) {
  const Parsed parsed = parse_options("ablate", arguments, case_options(), {"CASE"});
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
  const ablate::Hunt hunt =
      ablate::hunt(bench, {.jobs = setup.jobs, .ablate = true, .case_name = parsed.text("CASE")});
  if (parsed.flag("json")) {
    std::printf("%s\n", table_json(hunt).dump(2).c_str());
  } else {
    print_table(hunt);
  }
  return compare::exit_status(hunt.verdict);
}

}  // namespace nanhunt::cli
