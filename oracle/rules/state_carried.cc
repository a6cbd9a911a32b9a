// SPDX-License-Identifier: Apache-2.0
// state_carried: a parameter at the start of a step is, to the bit, what the optimizer (or the
// parameter gather after it) left at the end of the step before. Finds stale weights and buffers
// overwritten in between.
#include <map>

#include "oracle/rules/rule_tools.h"
#include "oracle/rules/rules.h"

namespace nanhunt::oracle {
namespace {

using trace::Phase;

std::map<std::pair<int32_t, std::string>, const trace::Record*> parameters_left_by(
    const trace::Step& step) {
  std::map<std::pair<int32_t, std::string>, const trace::Record*> left;
  for (const auto& record : step.records) {  // by rank, then sequence: the latest stays
    const bool update =
        record.what.phase == Phase::kUpdate || record.what.phase == Phase::kParamSync;
    if (update && record.what.role == "param")
      left[{record.where.rank, record.what.site}] = &record;
  }
  return left;
}

std::vector<Finding> check(const RuleInput& input) {
  std::vector<Finding> findings;
  if (input.previous == nullptr || input.previous->step + 1 != input.step.step) return findings;
  const auto left = parameters_left_by(*input.previous);
  for (const auto& record : input.step.records) {
    if (record.what.phase != Phase::kForward || record.what.role != "param") continue;
    const auto found = left.find({record.where.rank, record.what.site});
    if (found == left.end() || found->second->raw_digest == record.raw_digest) continue;
    if (found->second->storage != record.storage) continue;
    Finding finding = finding_about(record, "state_carried", Severity::kProven);
    finding.decider = Decider::kRecomputation;
    finding.measured = 1;
    finding.unit = "tensors changed";
    finding.evidence = "differs from the parameter after the update of step " +
                       std::to_string(input.previous->step) + " on rank " +
                       std::to_string(record.where.rank);
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace

Rule state_carried() {
  return {"state_carried", Severity::kProven, trace::Level::kStats,
          "a parameter starts a step as the step before left it", check};
}

}  // namespace nanhunt::oracle
