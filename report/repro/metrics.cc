// SPDX-License-Identifier: Apache-2.0
#include "compare/numbers.h"
#include "report/repro/sections.h"

namespace nanhunt::report {
namespace {

using compare::short_number;

std::string or_none(const std::optional<double>& value) {
  return value ? short_number(*value) : "unknown";
}

// Without a power there is no spread to plan by, and no number.
std::string seeds_needed(const repro::MetricResult& metric) {
  if (metric.seeds) return std::to_string(*metric.seeds);
  return metric.power ? "none up to a million" : "unknown";
}

Data row(const repro::Convergence& result, size_t index) {
  const repro::MetricResult& metric = result.metrics[index];
  const repro::Equivalence& test = metric.test;
  Data data = object();
  data.set("index", std::to_string(index));
  data.set("name", std::string(repro::name_of(metric.metric)));
  data.set("decision", std::string(repro::name_of(test.decision)));
  data.set("tone", tone_of(repro::exit_status(test.decision)));
  data.set("mean", short_number(test.mean));
  data.set("interval", "[" + short_number(test.low) + ", " + short_number(test.high) + "]");
  data.set("margin", short_number(metric.margin));
  data.set("p", short_number(test.p));
  data.set("power", or_none(metric.power));
  data.set("needed", seeds_needed(metric));
  data.set("lines", list(repro::metric_lines(result, index)));
  return data;
}

}  // namespace

Data metrics(const repro::Convergence& result) {
  Data rows(Data::type::list);
  for (size_t i = 0; i < result.metrics.size(); ++i) rows.push_back(row(result, i));
  return rows;
}

}  // namespace nanhunt::report
