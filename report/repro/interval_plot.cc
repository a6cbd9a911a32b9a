// SPDX-License-Identifier: Apache-2.0
#include "report/repro/interval_plot.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace nanhunt::report {
namespace {

using nlohmann::json;

json finite(double value) {
  return std::isfinite(value) ? json(value) : json();
}

}  // namespace

json interval_plots(const repro::Convergence& result) {
  json plots = json::array();
  for (const repro::MetricResult& metric : result.metrics) {
    const repro::Equivalence& test = metric.test;
    json pairs = json::array();
    for (const double difference : test.differences) pairs.push_back(finite(difference));
    plots.push_back({{"margin", finite(metric.margin)},
                     {"mean", finite(test.mean)},
                     {"low", finite(test.low)},
                     {"high", finite(test.high)},
                     {"pairs", std::move(pairs)}});
  }
  return plots;
}

}  // namespace nanhunt::report
