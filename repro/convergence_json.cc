// SPDX-License-Identifier: Apache-2.0
// The convergence level as JSON; keys in docs/convergence.md. NaN and Inf are strings.
#include <cmath>
#include <nlohmann/json.hpp>

#include "compare/numbers.h"
#include "repro/convergence.h"

namespace nanhunt::repro {
namespace {

using nlohmann::json;

constexpr int kSchemaVersion = 1;

json number(double value) {
  return std::isfinite(value) ? json(value) : json(compare::short_number(value));
}

json numbers(const std::vector<double>& values) {
  json list = json::array();
  for (const double value : values) list.push_back(number(value));
  return list;
}

// Pairs are counted from 1 where people see them.
json from_one(const std::vector<int>& pairs) {
  json list = json::array();
  for (const int pair : pairs) list.push_back(pair + 1);
  return list;
}

json to_json(const DrawnPair& pair) {
  return {{"steps", pair.steps}, {"a", numbers(pair.a)}, {"b", numbers(pair.b)}};
}

json to_json(const DrawnCurves& curves) {
  json pairs = json::array();
  for (const DrawnPair& pair : curves.pairs) pairs.push_back(to_json(pair));
  return {{"pairs", pairs}, {"mean", to_json(curves.mean)}, {"mean_of", curves.mean_of}};
}

json range(const std::optional<StepRange>& steps) {
  return steps ? json{{"first", steps->first}, {"last", steps->last}} : json();
}

json to_json(const MetricResult& metric) {
  const Equivalence& test = metric.test;
  json values = json::array();
  for (const Pair& pair : metric.values) {
    values.push_back({{"a", number(pair.a)}, {"b", number(pair.b)}});
  }
  json spread;  // null without A/A pairs
  if (metric.spread) {
    spread = {{"pairs", metric.spread->pairs},
              {"sd", metric.spread->sd},
              {"low", metric.spread->low},
              {"high", metric.spread->high}};
  }
  return {{"metric", name_of(metric.metric)},
          {"decision", name_of(test.decision)},
          {"reason", test.reason},
          {"steps", range(metric.steps)},
          {"values", values},
          {"differences", numbers(test.differences)},
          {"not_finite_on_one_side", from_one(test.one_side)},
          {"not_finite_on_both_sides", from_one(test.both_sides)},
          {"mean", number(test.mean)},
          {"sd", number(test.sd)},
          {"low", number(test.low)},
          {"high", number(test.high)},
          {"p", number(test.p)},
          {"margin", metric.margin},
          {"same", spread},
          {"margin_over_sd", number(metric.margin_over_sd)},
          {"power", metric.power ? json(*metric.power) : json()},
          {"seeds_needed", metric.seeds ? json(*metric.seeds) : json()}};
}

}  // namespace

json to_json(const Convergence& result) {
  json metrics = json::array();
  for (const MetricResult& metric : result.metrics) metrics.push_back(to_json(metric));
  return {{"schema", kSchemaVersion},
          {"level", "convergence"},
          {"verdict", name_of(result.decision)},
          {"exit_status", exit_status(result.decision)},
          {"reason", result.reason},
          {"criteria", to_json(result.criteria)},
          {"thresholds_sha256", result.thresholds_sha256},
          {"pairs", result.pairs},
          {"same_pairs", result.same_pairs},
          {"steps",
           {{"first", result.first_step}, {"last", result.last_step}, {"count", result.steps}}},
          {"notes", result.notes},
          {"metrics", metrics},
          {"curves", to_json(result.curves)},
          {"command", result.command}};
}

}  // namespace nanhunt::repro
