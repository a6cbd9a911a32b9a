// SPDX-License-Identifier: Apache-2.0
#include "ablate/trials_json.h"

#include <nlohmann/json.hpp>

#include "trace/error.h"

namespace nanhunt::ablate {
namespace {

using nlohmann::json;

TrialResult result_of(const std::string& name) {
  for (const auto result : {TrialResult::kPass, TrialResult::kFail, TrialResult::kUnresolved}) {
    if (name_of(result) == name) return result;
  }
  throw trace::Error(trace::ErrorKind::kUnreadable, "no trial: 'result' is '" + name + "'");
}

}  // namespace

std::string_view name_of(TrialResult result) {
  switch (result) {
    case TrialResult::kPass:
      return "pass";
    case TrialResult::kFail:
      return "fail";
    case TrialResult::kUnresolved:
      return "unresolved";
  }
  return "";
}

json to_json(const std::vector<TrialRow>& trials) {
  json rows = json::array();
  for (const TrialRow& trial : trials) {
    rows.push_back({{"trial", trial.name},
                    {"result", name_of(trial.verdict.result)},
                    {"reason", trial.verdict.reason},
                    {"seconds", trial.seconds}});
  }
  return rows;
}

json to_json(const Hunt& hunt) {
  json result = compare::to_json(hunt.verdict);
  if (!hunt.trials.empty()) result["trials"] = to_json(hunt.trials);
  return result;
}

std::vector<TrialRow> trials_from_json(const json& rows) {
  std::vector<TrialRow> trials;
  try {
    for (const json& row : rows) {
      TrialRow trial;
      trial.name = row.at("trial").get<std::string>();
      trial.verdict = {result_of(row.at("result").get<std::string>()),
                       row.at("reason").get<std::string>()};
      trial.seconds = row.at("seconds").get<double>();
      trials.push_back(std::move(trial));
    }
  } catch (const json::exception& error) {
    throw trace::Error(trace::ErrorKind::kUnreadable, std::string("no trials: ") + error.what());
  }
  return trials;
}

}  // namespace nanhunt::ablate
