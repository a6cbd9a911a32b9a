// SPDX-License-Identifier: Apache-2.0
// The convergence level as text; docs/convergence.md shows it.
#include <algorithm>

#include "compare/numbers.h"
#include "repro/convergence.h"
#include "repro/power.h"

namespace nanhunt::repro {
namespace {

using compare::short_number;

constexpr size_t kHashShown = 16;

std::string coverage_text(const Convergence& result) {
  std::string text = "Coverage\n  pairs " + std::to_string(result.pairs.size()) + ", A/A pairs " +
                     std::to_string(result.same_pairs) + ", logged steps " +
                     std::to_string(result.steps) + ": " + std::to_string(result.first_step) +
                     " to " + std::to_string(result.last_step) + "\n";
  for (size_t i = 0; i < result.pairs.size(); ++i) {
    text += "  pair " + std::to_string(i + 1) + ": " + result.pairs[i] + "\n";
  }
  for (const std::string& note : result.notes) text += "  " + note + "\n";
  return text;
}

std::string measured_line(const MetricResult& metric, double alpha) {
  const Equivalence& test = metric.test;
  return "B - A over " + std::to_string(test.differences.size()) + " pairs: mean " +
         short_number(test.mean) + ", sd " + short_number(test.sd) + ", " +
         short_number(100 * (1 - 2 * alpha)) + " % interval [" + short_number(test.low) + ", " +
         short_number(test.high) + "], p " + short_number(test.p);
}

std::string margin_line(const MetricResult& metric, const Margin& margin) {
  std::string text = "margin " + short_number(metric.margin);
  if (margin.of_deviation) text += " = " + margin_text(margin) + " of the A/A pairs";
  if (metric.spread) {
    text += "; A/A sd " + short_number(metric.spread->sd) + " of " +
            std::to_string(metric.spread->pairs) + " pairs (95 % interval " +
            short_number(metric.spread->low) + " to " + short_number(metric.spread->high) + ")";
  }
  return text;
}

std::string seeds_text(const std::optional<int>& seeds) {
  return seeds ? std::to_string(*seeds) : "more than " + std::to_string(kMostSeeds);
}

std::string power_line(const MetricResult& metric) {
  if (!metric.power) return "power unknown: no spread was measured";
  const bool by_same = metric.spread && metric.spread->sd > 0;
  return "power " + short_number(*metric.power) + " of " + std::to_string(metric.values.size()) +
         " pairs at true difference 0, margin " + short_number(metric.margin_over_sd) + " sd by " +
         (by_same ? "the A/A pairs" : "these pairs") + "; seeds needed for " +
         short_number(kWantedPower) + ": " + seeds_text(metric.seeds);
}

std::string metric_text(const Convergence& result, size_t index) {
  const MetricResult& metric = result.metrics[index];
  std::string text = "\n" + std::to_string(index + 1) + ". " + std::string(name_of(metric.metric)) +
                     ": " + std::string(name_of(metric.test.decision)) + "\n";
  for (const std::string& line : metric_lines(result, index)) text += "   " + line + "\n";
  return text;
}

std::string implication(Decision decision) {
  switch (decision) {
    case Decision::kEquivalent:
      return "training ends alike within the margin; says nothing of state or of single steps";
    case Decision::kDifferent:
      return "the set-ups do not train alike; a replay of one step tells where they part";
    case Decision::kUnknown:
      break;
  }
  return "neither shown alike nor different";
}

}  // namespace

std::string headline(const Convergence& result) {
  return std::string(name_of(result.decision)) + ": " + result.reason;
}

std::vector<std::string> metric_lines(const Convergence& result, size_t index) {
  const MetricResult& metric = result.metrics[index];
  std::vector<std::string> lines = {metric.test.reason};
  if (metric.test.differences.size() >= 2) {
    lines.push_back(measured_line(metric, result.criteria.alpha));
  }
  lines.push_back(margin_line(metric, result.criteria.criteria[index].margin));
  lines.push_back(power_line(metric));
  return lines;
}

std::string ticket(const Convergence& result) {
  std::string text =
      "---- nanhunt ----\nlevel:     convergence\nverdict:   " + headline(result) + "\n";
  for (const MetricResult& metric : result.metrics) {
    const std::string name(name_of(metric.metric));
    text += name + ":" + std::string(name.size() < 10 ? 10 - name.size() : 1, ' ') +
            std::string(name_of(metric.test.decision)) + ", " + metric.test.reason + "\n";
  }
  text += "implies:   " + implication(result.decision) + "\n";
  return text + "thresholds " + result.thresholds_sha256.substr(0, kHashShown) +
         "\n-----------------\n";
}

std::string to_text(const Convergence& result) {
  std::string text = coverage_text(result) + "\nVerdict: " + headline(result) + "\n";
  for (size_t i = 0; i < result.metrics.size(); ++i) text += metric_text(result, i);
  return text + "\n" + ticket(result);
}

}  // namespace nanhunt::repro
