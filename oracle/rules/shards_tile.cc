// SPDX-License-Identifier: Apache-2.0
// shards_tile: the pieces of a logical tensor cover it without gap or overlap, and no partial sum
// is missing. Judged only when every rank completed the step: a rank that died is incomplete, not
// wrong.
#include <algorithm>
#include <set>

#include "oracle/logical.h"
#include "oracle/rules/rule_tools.h"
#include "oracle/rules/rules.h"

namespace nanhunt::oracle {
namespace {

bool everything_is_there(const trace::Step& step) {
  return step.dropped.empty() &&
         std::ranges::all_of(step.progress, [](const trace::RankProgress& rank) {
           return rank.present && rank.complete;
         });
}

// A filter by rank leaves pieces out on purpose: then a what is missing on whole ranks.
bool seen_on_every_rank(const trace::Step& step, const std::vector<int>& records, int32_t ranks) {
  std::set<int32_t> seen;
  for (const int index : records) seen.insert(record_at(step, index).where.rank);
  return static_cast<int32_t>(seen.size()) == ranks;
}

std::vector<Finding> check(const RuleInput& input) {
  std::vector<Finding> findings;
  if (!everything_is_there(input.step)) return findings;
  const auto ranks = static_cast<int32_t>(input.facts.size());
  for (const Logical& logical : assemble(input.step, input.facts)) {
    if (logical.complete || logical.pieces.empty()) continue;
    const auto& records = input.step.by_what().at(logical.what);
    if (!seen_on_every_rank(input.step, records, ranks)) continue;
    Finding finding =
        finding_about(record_at(input.step, records.front()), "shards_tile", Severity::kProven);
    finding.records.clear();
    for (const int index : records) add_record(finding, record_at(input.step, index));
    finding.measured = static_cast<double>(logical.pieces.size());
    finding.unit = "pieces";
    finding.evidence = logical.why_not;
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace

Rule shards_tile() {
  return {"shards_tile", Severity::kProven, trace::Level::kStats,
          "shards cover the logical tensor without gap or overlap", check};
}

}  // namespace nanhunt::oracle
