// SPDX-License-Identifier: Apache-2.0
#include "compare/numbers.h"
#include "report/repro/sections.h"

namespace nanhunt::report {
namespace {

using compare::short_number;

std::string margin_words(const repro::Convergence& result, size_t index) {
  const repro::MetricResult& metric = result.metrics[index];
  const repro::Margin& margin = result.criteria.criteria[index].margin;
  std::string text = repro::margin_text(margin);
  if (margin.of_deviation) text += " of the A/A pairs: " + short_number(metric.margin);
  if (metric.steps) {
    text += ", of steps " + std::to_string(metric.steps->first) + " to " +
            std::to_string(metric.steps->last);
  }
  return text;
}

std::string spread_words(const repro::Spread& spread) {
  return short_number(spread.sd) + " of " + std::to_string(spread.pairs) +
         " pairs, 95 % interval " + short_number(spread.low) + " to " + short_number(spread.high);
}

}  // namespace

Data margins(const repro::Convergence& result) {
  const repro::Criteria& criteria = result.criteria;
  Data rows(Data::type::list);
  for (size_t i = 0; i < result.metrics.size(); ++i) {
    const std::string name(repro::name_of(result.metrics[i].metric));
    rows.push_back(pair_row("margin of " + name, margin_words(result, i)));
    if (const auto& spread = result.metrics[i].spread) {
      rows.push_back(pair_row("A/A deviation of " + name, spread_words(*spread)));
    }
  }
  rows.push_back(pair_row("each one-sided test", "at " + short_number(criteria.alpha)));
  rows.push_back(pair_row("early part", short_number(criteria.fractions.early) + " of the steps"));
  rows.push_back(pair_row("late part", short_number(criteria.fractions.late) + " of the steps"));
  rows.push_back(pair_row("column of the loss", criteria.names.loss));
  if (!criteria.names.quality.empty()) {
    rows.push_back(pair_row("column of the quality", criteria.names.quality));
  }
  return rows;
}

}  // namespace nanhunt::report
