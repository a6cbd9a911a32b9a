// SPDX-License-Identifier: Apache-2.0
// The convergence level from its JSON; keys in docs/convergence.md. Curves, steps of metrics and
// the command may be missing: results had none at first.
#include "oracle/sha256.h"
#include "repro/convergence.h"
#include "repro/json_fields.h"

namespace nanhunt::repro {
namespace {

using nlohmann::json;

constexpr std::initializer_list<Decision> kDecisions = {Decision::kEquivalent, Decision::kDifferent,
                                                        Decision::kUnknown};

// Counted from 1 in JSON.
std::vector<int> pairs(const json& object, const char* key) {
  auto list = field(object, key).get<std::vector<int>>();
  for (int& pair : list) --pair;
  return list;
}

template <typename T>
std::optional<T> optional(const json& object, const char* key) {
  const json& value = field(object, key);
  return value.is_null() ? std::nullopt : std::optional<T>(value.get<T>());
}

Criteria criteria_of(const json& object) {
  Criteria criteria;
  criteria.alpha = number(object, "alpha");
  criteria.fractions = {number(object, "early"), number(object, "late")};
  criteria.names.loss = text(object, "loss");
  criteria.names.quality = text(object, "quality");
  return criteria;
}

Criterion criterion_of(const json& metrics, const std::string& name) {
  const auto metric = metric_named(name);
  if (!metric) refuse_json("'metric' is '" + name + "'");
  const json& margin = field(metrics, name.c_str());
  return {*metric, {number(margin, "margin"), text(margin, "unit") == "sd"}};
}

Equivalence test_of(const json& object) {
  Equivalence test;
  test.decision = named(object, "decision", kDecisions);
  test.reason = text(object, "reason");
  test.differences = numbers(object, "differences");
  test.one_side = pairs(object, "not_finite_on_one_side");
  test.both_sides = pairs(object, "not_finite_on_both_sides");
  test.mean = number(object, "mean");
  test.sd = number(object, "sd");
  test.p = number(object, "p");
  test.low = number(object, "low");
  test.high = number(object, "high");
  return test;
}

MetricResult metric_of(const json& object, Metric metric) {
  MetricResult result;
  result.metric = metric;
  result.margin = number(object, "margin");
  for (const json& pair : field(object, "values")) {
    result.values.push_back({number(pair, "a"), number(pair, "b")});
  }
  result.test = test_of(object);
  if (const json& same = field(object, "same"); !same.is_null()) {
    result.spread = Spread{field(same, "pairs").get<int>(), number(same, "sd"), number(same, "low"),
                           number(same, "high")};
  }
  if (const json steps = object.value("steps", json()); !steps.is_null()) {
    result.steps =
        StepRange{field(steps, "first").get<int64_t>(), field(steps, "last").get<int64_t>()};
  }
  result.margin_over_sd = number(object, "margin_over_sd");
  result.power = optional<double>(object, "power");
  result.seeds = optional<int>(object, "seeds_needed");
  return result;
}

DrawnPair drawn_pair(const json& object) {
  DrawnPair pair{field(object, "steps").get<std::vector<int64_t>>(), numbers(object, "a"),
                 numbers(object, "b")};
  if (pair.a.size() != pair.steps.size() || pair.b.size() != pair.steps.size()) {
    refuse_json("a curve has " + std::to_string(pair.steps.size()) + " steps and " +
                std::to_string(pair.a.size()) + " and " + std::to_string(pair.b.size()) +
                " losses");
  }
  return pair;
}

DrawnCurves curves_of(const json& object, size_t pairs) {
  DrawnCurves curves;
  for (const json& pair : field(object, "pairs")) curves.pairs.push_back(drawn_pair(pair));
  if (curves.pairs.size() != pairs) {
    refuse_json("it has curves of " + std::to_string(curves.pairs.size()) + " pairs, and " +
                std::to_string(pairs) + " were judged");
  }
  curves.mean = drawn_pair(field(object, "mean"));
  curves.mean_of = field(object, "mean_of").get<int>();
  return curves;
}

void require_hash(const json& object) {
  if (oracle::sha256(field(object, "criteria").dump()) == text(object, "thresholds_sha256")) return;
  refuse_json("'criteria' are not those of 'thresholds_sha256'");
}

void add_metrics(const json& object, Convergence& result) {
  const json& margins = field(field(object, "criteria"), "metrics");
  for (const json& metric : field(object, "metrics")) {
    result.criteria.criteria.push_back(criterion_of(margins, text(metric, "metric")));
    result.metrics.push_back(metric_of(metric, result.criteria.criteria.back().metric));
    if (result.metrics.back().values.size() != result.pairs.size()) {
      refuse_json(text(metric, "metric") + " does not hold the values of each pair");
    }
  }
}

Convergence read(const json& object) {
  require_schema(object, 1);
  require_hash(object);
  Convergence result;
  result.decision = named(object, "verdict", kDecisions);
  result.reason = text(object, "reason");
  result.thresholds_sha256 = text(object, "thresholds_sha256");
  result.criteria = criteria_of(field(object, "criteria"));
  result.notes = field(object, "notes").get<std::vector<std::string>>();
  result.pairs = field(object, "pairs").get<std::vector<std::string>>();
  result.same_pairs = field(object, "same_pairs").get<int>();
  const json& steps = field(object, "steps");
  result.first_step = field(steps, "first").get<int64_t>();
  result.last_step = field(steps, "last").get<int64_t>();
  result.steps = field(steps, "count").get<int64_t>();
  add_metrics(object, result);
  if (object.contains("curves")) result.curves = curves_of(object["curves"], result.pairs.size());
  result.command = object.value("command", "");
  return result;
}

}  // namespace

Convergence convergence_from_json(const json& object) {
  return read_as("convergence result", object, read);
}

}  // namespace nanhunt::repro
