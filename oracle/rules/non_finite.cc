// SPDX-License-Identifier: Apache-2.0
// non_finite: no captured value is NaN or Inf. -Inf is allowed in a mask, where it means "masked".
#include <map>

#include "oracle/rules/rule_tools.h"
#include "oracle/rules/rules.h"

namespace nanhunt::oracle {
namespace {

std::string counts(const trace::Statistics& s) {
  return std::to_string(s.nan) + " NaN, " + std::to_string(s.pos_inf) + " +Inf, " +
         std::to_string(s.neg_inf) + " -Inf of " + std::to_string(s.count) +
         " elements; largest finite " + short_number(s.absmax());
}

std::vector<Finding> check(const RuleInput& input) {
  std::map<std::pair<trace::What, int32_t>, Finding> by_tensor;
  for (const auto& record : input.step.records) {
    const uint64_t count = trace::non_finite_elements(record);
    if (count == 0) continue;
    const auto key = std::pair(record.what, record.where.microbatch);
    const auto found = by_tensor.find(key);
    if (found != by_tensor.end()) {
      add_record(found->second, record);
      found->second.measured += static_cast<double>(count);
      continue;
    }
    Finding finding = finding_about(record, "non_finite", Severity::kProven);
    finding.decider = Decider::kItself;
    finding.measured = static_cast<double>(count);
    finding.unit = "elements";
    finding.evidence = counts(record.statistics) + " (" +
                       std::string(trace::name_of(record.storage)) + " ends at " +
                       short_number(trace::max_finite(record.storage)) + "), rank " +
                       std::to_string(record.where.rank);
    by_tensor.emplace(key, std::move(finding));
  }
  std::vector<Finding> findings;
  for (auto& [key, finding] : by_tensor) findings.push_back(std::move(finding));
  return findings;
}

}  // namespace

Rule non_finite() {
  return {"non_finite", Severity::kProven, trace::Level::kStats,
          "no value is NaN or Inf (a mask may hold -Inf)", check};
}

}  // namespace nanhunt::oracle
