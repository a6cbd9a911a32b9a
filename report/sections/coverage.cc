// SPDX-License-Identifier: Apache-2.0
#include "compare/numbers.h"
#include "compare/verdict_words.h"
#include "report/sections/sections.h"

namespace nanhunt::report {

bool judges_traces(const compare::Verdict& verdict) {
  return !verdict.thresholds_sha256.empty();
}

std::string steps_of(const compare::Coverage& coverage) {
  Lines steps;
  for (const int64_t step : coverage.steps) steps.push_back(std::to_string(step));
  if (steps.empty()) return "none";
  if (steps.size() <= kMostLines) return compare::join(steps, " ");
  return steps.front() + " to " + steps.back() + ", " + std::to_string(steps.size()) + " in all";
}

Data coverage(const compare::Verdict& verdict) {
  const compare::Coverage& covered = verdict.coverage;
  Data result = object();
  if (!judges_traces(verdict)) {
    result.set("none", "No trace was judged.");
    return result;
  }
  Data rows(Data::type::list);
  rows.push_back(pair_row("sites fired", of(covered.sites_fired, covered.sites_expected)));
  rows.push_back(
      pair_row("collectives matched", of(covered.collectives_matched, covered.collectives)));
  rows.push_back(pair_row("ranks", of(covered.ranks_present, covered.ranks_expected)));
  rows.push_back(pair_row("steps", steps_of(covered)));
  rows.push_back(pair_row("records", std::to_string(covered.records)));
  if (!verdict.reference.empty()) {
    rows.push_back(
        pair_row("tensors judged by the reference", std::to_string(covered.records_compared)));
  }
  rows.push_back(pair_row("computed again", std::to_string(covered.replayed)));
  rows.push_back(pair_row("unknown placements", std::to_string(covered.unknown_placements)));
  rows.push_back(pair_row("unseen regions", std::to_string(covered.unseen_regions)));
  result.set("rows", rows);
  Data lists(Data::type::list);
  for (const auto& [title, lines] : compare::coverage_lists(covered)) {
    Data each = object();
    each.set("title", title);
    each.set("lines", list(lines));
    lists.push_back(each);
  }
  result.set("lists", lists);
  return result;
}

}  // namespace nanhunt::report
