// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "compare/numbers.h"
#include "compare/verdict_words.h"
#include "report/sections/sections.h"

namespace nanhunt::report {
namespace {

using compare::Verdict;

std::string no_findings(const Verdict& verdict) {
  if (!judges_traces(verdict)) {
    return "No tensor was judged: the subject tells its failure itself.";
  }
  const auto& coverage = verdict.coverage;
  return std::string(verdict.kind == compare::VerdictKind::kClean ? "Clean" : "No finding") +
         " in sites " + of(coverage.sites_fired, coverage.sites_expected) +
         ", collectives matched " + of(coverage.collectives_matched, coverage.collectives) +
         ", ranks " + of(coverage.ranks_present, coverage.ranks_expected) + ", steps " +
         steps_of(coverage) + ". It means no more than what was covered.";
}

Data finding_row(const compare::Origin& origin, size_t number) {
  const oracle::Finding& finding = origin.finding;
  const std::string place = compare::place_text(finding);
  Data row = object();
  row.set("number", std::to_string(number));
  row.set("site", finding.what.site);
  row.set("where", place.substr(std::min(place.size(), finding.what.site.size() + 2)));
  row.set("ranks", compare::ranks_text(finding));
  row.set("rule", finding.rule);
  row.set("severity", std::string(oracle::name_of(finding.severity)));
  row.set("measured", compare::short_number(finding.measured));
  row.set("allowed", compare::short_number(finding.allowed));
  row.set("unit", finding.unit);
  row.set("lines", list(compare::origin_lines(origin)));
  return row;
}

}  // namespace

Data findings(const Verdict& verdict) {
  if (verdict.origins.empty()) {
    Data none = object();
    none.set("none", no_findings(verdict));
    return none;
  }
  size_t number = 0;
  return table(verdict.origins, kMostFindings,
               [&](const compare::Origin& origin) { return finding_row(origin, ++number); });
}

}  // namespace nanhunt::report
