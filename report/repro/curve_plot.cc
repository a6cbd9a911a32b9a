// SPDX-License-Identifier: Apache-2.0
#include "report/repro/curve_plot.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "compare/numbers.h"

namespace nanhunt::report {
namespace {

using nlohmann::json;
using repro::Convergence;
using repro::DrawnPair;
using repro::Metric;

bool is_lost(const DrawnPair& pair) {
  const auto finite = [](double loss) { return std::isfinite(loss); };
  return !std::ranges::all_of(pair.a, finite) || !std::ranges::all_of(pair.b, finite);
}

std::string name_of_pair(size_t index) {
  return "pair " + std::to_string(index + 1);
}

// Of a pair's differences, the largest in units of the margin.
double largest_difference(const Convergence& result, size_t pair) {
  double largest = 0;
  for (const auto& metric : result.metrics) {
    const repro::Pair& values = metric.values[pair];
    const double size = std::abs(values.b - values.a) / metric.margin;
    if (!std::isnan(size)) largest = std::max(largest, size);
  }
  return largest;
}

json point(int64_t step, double value) {
  return {step, std::isfinite(value) ? json(value) : json()};
}

json points(const DrawnPair& pair, const std::function<double(size_t place)>& value) {
  json list = json::array();
  for (size_t i = 0; i < pair.steps.size(); ++i) list.push_back(point(pair.steps[i], value(i)));
  return list;
}

json side(const DrawnPair& pair, const std::vector<double>& losses) {
  return points(pair, [&](size_t i) { return losses[i]; });
}

// `centre` plus or minus the margin, at each step of `pair`.
json edge(const Convergence& result, const DrawnPair& pair, double sign,
          const std::function<double(size_t place)>& centre) {
  return points(pair, [&](size_t i) {
    return centre(i) + sign * margin_at(result, pair.steps[i]).value_or(NAN);
  });
}

// Where one side's loss is NaN or Inf: the first step of each run of such.
void add_marks(const DrawnPair& pair, const std::vector<double>& losses, const std::string& name,
               json& marks) {
  for (size_t i = 0; i < losses.size(); ++i) {
    if (std::isfinite(losses[i]) || (i > 0 && !std::isfinite(losses[i - 1]))) continue;
    marks.push_back(
        {{"step", pair.steps[i]}, {"text", name + ": " + compare::short_number(losses[i])}});
  }
}

double greatest(const DrawnPair& pair, double so_far) {
  for (const auto* losses : {&pair.a, &pair.b}) {
    for (const double loss : *losses) {
      if (std::isfinite(loss)) so_far = std::max(so_far, loss);
    }
  }
  return so_far;
}

}  // namespace

std::optional<double> margin_at(const Convergence& result, int64_t step) {
  std::optional<double> of_part, of_whole;
  for (const auto& metric : result.metrics) {
    if (!metric.steps || step < metric.steps->first || step > metric.steps->last) continue;
    if (metric.metric == Metric::kWhole) {
      of_whole = metric.margin;
    } else {
      of_part = std::min(metric.margin, of_part.value_or(metric.margin));
    }
  }
  return of_part ? of_part : of_whole;
}

std::vector<size_t> pairs_to_draw(const Convergence& result) {
  std::vector<size_t> order(result.curves.pairs.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::stable_sort(order, std::greater(), [&](size_t i) {
    return std::pair(is_lost(result.curves.pairs[i]), largest_difference(result, i));
  });
  order.resize(std::min(order.size(), kMostPairs));
  std::ranges::sort(order);
  return order;
}

json loss_curves(const Convergence& result) {
  const DrawnPair& mean = result.curves.mean;
  json lost = json::array(), marks = json::array();
  double top = greatest(mean, -std::numeric_limits<double>::infinity());
  for (const size_t i : pairs_to_draw(result)) {
    const DrawnPair& pair = result.curves.pairs[i];
    if (!is_lost(pair)) continue;
    const std::string name = name_of_pair(i);
    lost.push_back({{"name", name}, {"a", side(pair, pair.a)}, {"b", side(pair, pair.b)}});
    add_marks(pair, pair.a, name + " A", marks);
    add_marks(pair, pair.b, name + " B", marks);
    top = greatest(pair, top);
  }
  const auto centre = [&](size_t i) { return mean.a[i]; };
  return {{"a", side(mean, mean.a)},
          {"b", side(mean, mean.b)},
          {"low", edge(result, mean, -1, centre)},
          {"high", edge(result, mean, 1, centre)},
          {"lost", std::move(lost)},
          {"marks", std::move(marks)},
          {"marked", std::isfinite(top) ? top : 0}};
}

json difference_curves(const Convergence& result) {
  const DrawnPair& mean = result.curves.mean;
  const auto difference = [](const DrawnPair& pair) {
    return points(pair, [&](size_t i) { return pair.b[i] - pair.a[i]; });
  };
  json pairs = json::array();
  for (const size_t i : pairs_to_draw(result)) {
    pairs.push_back({{"name", name_of_pair(i)}, {"points", difference(result.curves.pairs[i])}});
  }
  const bool lost_all = mean.steps.empty() && !result.curves.pairs.empty();
  const DrawnPair& steps = lost_all ? result.curves.pairs.front() : mean;
  const auto centre = [](size_t) { return 0.0; };
  return {{"low", edge(result, steps, -1, centre)},
          {"high", edge(result, steps, 1, centre)},
          {"mean", result.curves.mean_of > 1 ? difference(mean) : json::array()},
          {"pairs", std::move(pairs)}};
}

}  // namespace nanhunt::report
