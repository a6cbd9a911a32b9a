// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "ablate/trials_json.h"
#include "compare/verdict_words.h"
#include "report/sections/sections.h"

namespace nanhunt::report {
namespace {

Data trial_row(const ablate::TrialRow& trial) {
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%.1f", trial.seconds);
  Data row = object();
  row.set("name", trial.name);
  row.set("result", std::string(ablate::name_of(trial.verdict.result)));
  row.set("reason", trial.verdict.reason);
  row.set("seconds", std::string(seconds));
  return row;
}

}  // namespace

Data ablation(const HuntResult& result) {
  Data data = object();
  const auto& cause = result.verdict.cause;
  if (!cause && result.trials.empty()) {
    data.set("none", "No toggle was switched.");
    return data;
  }
  if (cause) {
    data.set("statement", cause->statement);
    if (!cause->toggles.empty()) data.set("toggles", compare::toggles_text(*cause));
    set_unless_empty(data, "undecided", cause->undecided);
  }
  if (!result.trials.empty()) data.set("trials", table(result.trials, kMostLines * 4, trial_row));
  return data;
}

}  // namespace nanhunt::report
