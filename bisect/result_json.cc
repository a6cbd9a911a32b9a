// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "bisect/result.h"

namespace nanhunt::bisect {
namespace {

using nlohmann::json;

json item_json(const Report& report, size_t item) {
  const Trial& trial = report.result.trials[item];
  return {{"item", report.items[item].name},
          {"label", report.items[item].label},
          {"place", item + 1},
          {"state", word_of(trial.state)},
          {"given", trial.given},
          {"runs", trial.runs},
          {"failures", trial.failures},
          {"last", trial.last}};
}

json items_json(const Report& report, const std::vector<size_t>& items) {
  json list = json::array();
  for (const size_t item : items) list.push_back(item_json(report, item));
  return list;
}

json neighbour_json(const Report& report, const std::optional<size_t>& item) {
  if (!item) return nullptr;
  json neighbour = item_json(report, *item);
  neighbour["command"] = report.command(*item);
  return neighbour;
}

std::vector<size_t> items_where(const Report& report, bool (*wanted)(const Trial&)) {
  std::vector<size_t> items;
  for (size_t i = 0; i < report.items.size(); ++i) {
    if (wanted(report.result.trials[i])) items.push_back(i);
  }
  return items;
}

json price_json(const Price& price) {
  return {{"items", price.items},
          {"runs_of_item", price.runs_of_item},
          {"runs", price.runs},
          {"expected_runs", price.expected},
          {"error", price.error}};
}

json error_json(const Report& report) {
  const Result& result = report.result;
  return {{"any", result.error},
          {"good", result.error_good},
          {"bad", result.error_bad},
          {"called_good", result.called_good},
          {"called_bad", result.called_bad},
          {"statement", error_statement(report.task, result)}};
}

}  // namespace

json to_json(const Report& report) {
  const Result& result = report.result;
  const Answer& answer = result.answer;
  const bool found = exit_status(result) == 0;
  return {{"schema", 1},
          {"outcome", word_of(result)},
          {"exit_status", exit_status(result)},
          {"reason", reason_of(report)},
          {"items", report.items.size()},
          // An item that was not separated is never named as the first bad one.
          {"first_bad", found ? neighbour_json(report, answer.first_bad) : json()},
          {"last_good", neighbour_json(report, answer.last_good)},
          {"bad", neighbour_json(report, answer.first_bad)},
          {"candidates", items_json(report, answer.candidates)},
          {"good_after_bad", items_json(report, answer.good_after_bad)},
          {"untestable", items_json(report, items_where(report,
                                                        [](const Trial& trial) {
                                                          return trial.state ==
                                                                 ItemState::kUntestable;
                                                        }))},
          {"tried", items_json(report, items_where(report,
                                                   [](const Trial& trial) {
                                                     return trial.state != ItemState::kUntried ||
                                                            trial.runs > 0;
                                                   }))},
          {"runs", result.runs},
          {"kept", report.kept},
          {"outputs", report.outputs},
          {"price", price_json(report.price)},
          {"error", error_json(report)}};
}

}  // namespace nanhunt::bisect
