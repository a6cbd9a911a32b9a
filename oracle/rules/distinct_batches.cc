// SPDX-License-Identifier: Apache-2.0
// distinct_batches: data-parallel ranks and microbatches work on different samples. Two pieces of
// the token ids with equal content but different positions in the batch are suspicious (real data
// repeats rarely; short or constant samples do, so a piece of one value only is not judged).
#include <map>

#include "oracle/rules/rule_tools.h"
#include "oracle/rules/rules.h"

namespace nanhunt::oracle {
namespace {

bool is_batch(const trace::Record& record) {
  return record.what.role == "tokens" && record.placement && !record.placement->regions.empty() &&
         record.statistics.min < record.statistics.max;
}

std::vector<Finding> check(const RuleInput& input) {
  std::map<std::tuple<trace::What, uint64_t>, const trace::Record*> first;
  std::vector<Finding> findings;
  for (const auto& record : input.step.records) {
    if (!is_batch(record)) continue;
    const auto [found, fresh] = first.try_emplace({record.what, record.raw_digest}, &record);
    if (fresh || found->second->placement->regions == record.placement->regions) continue;
    Finding finding = finding_about(record, "distinct_batches", Severity::kSuspicious);
    add_record(finding, *found->second);
    finding.measured = 2;
    finding.allowed = 1;
    finding.unit = "ranks or microbatches with the same tokens";
    finding.evidence = "rank " + std::to_string(record.where.rank) + " microbatch " +
                       std::to_string(record.where.microbatch) + " has the tokens of rank " +
                       std::to_string(found->second->where.rank) + " microbatch " +
                       std::to_string(found->second->where.microbatch);
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace

Rule distinct_batches() {
  return {"distinct_batches", Severity::kSuspicious, trace::Level::kStats,
          "data-parallel ranks and microbatches hold different samples", check};
}

}  // namespace nanhunt::oracle
