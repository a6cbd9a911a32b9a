// SPDX-License-Identifier: Apache-2.0
#include "repro/criteria.h"

#include <charconv>
#include <nlohmann/json.hpp>
#include <set>

#include "compare/numbers.h"
#include "oracle/sha256.h"
#include "repro/equivalence.h"
#include "trace/error.h"

namespace nanhunt::repro {
namespace {

[[noreturn]] void refuse(const std::string& message) {
  throw trace::Error(trace::ErrorKind::kUsage, message);
}

}  // namespace

Margin parse_margin(const std::string& text) {
  Margin margin;
  margin.of_deviation = text.ends_with("sd");
  const char* end = text.data() + text.size() - (margin.of_deviation ? 2 : 0);
  const auto [stopped, error] = std::from_chars(text.data(), end, margin.value);
  if (error != std::errc() || stopped != end) {
    refuse("the margin '" + text + "' is neither a number nor one with sd behind it, as in 2sd");
  }
  return margin;
}

std::string margin_text(const Margin& margin) {
  return compare::short_number(margin.value) + (margin.of_deviation ? "sd" : "");
}

void require_valid(const Criteria& criteria) {
  require_alpha(criteria.alpha);
  require_fractions(criteria.fractions);
  if (criteria.criteria.empty()) refuse("no metric to judge by");
  std::set<Metric> seen;
  for (const Criterion& criterion : criteria.criteria) {
    const std::string name(name_of(criterion.metric));
    if (!seen.insert(criterion.metric).second) refuse("two criteria for " + name);
    if (criterion.metric == Metric::kQuality && criteria.names.quality.empty()) {
      refuse("quality is to be judged, and no column is named for it");
    }
    require_margin(criterion.margin.value, name);
  }
}

nlohmann::json to_json(const Criteria& criteria) {
  nlohmann::json metrics;
  for (const Criterion& criterion : criteria.criteria) {
    metrics[std::string(name_of(criterion.metric))] = {
        {"margin", criterion.margin.value},
        {"unit", criterion.margin.of_deviation ? "sd" : "absolute"}};
  }
  return {{"alpha", criteria.alpha},           {"early", criteria.fractions.early},
          {"late", criteria.fractions.late},   {"loss", criteria.names.loss},
          {"quality", criteria.names.quality}, {"metrics", metrics}};
}

std::string sha256(const Criteria& criteria) {
  return oracle::sha256(to_json(criteria).dump());
}

}  // namespace nanhunt::repro
