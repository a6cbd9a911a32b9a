// SPDX-License-Identifier: Apache-2.0
#include "compare/events.h"

#include <algorithm>
#include <map>

namespace nanhunt::compare {
namespace {

using trace::Phase;

bool found_inf(const SideStep& side) {
  return std::ranges::any_of(side.step->records, [](const trace::Record& record) {
    return record.what.role == "found_inf" && record.statistics.count == 1 &&
           record.statistics.sum > 0;
  });
}

// The step wrote no parameter, or wrote what was there.
bool parameters_unchanged(const SideStep& side) {
  std::map<std::pair<int32_t, std::string>, uint64_t> start;
  for (const auto& record : side.step->records) {
    if (record.what.role != "param") continue;
    const auto key = std::pair(record.where.rank, record.what.site);
    if (record.what.phase == Phase::kForward) start[key] = record.raw_digest;
    if (record.what.phase != Phase::kUpdate) continue;
    const auto found = start.find(key);
    if (found == start.end() || found->second != record.raw_digest) return false;
  }
  return true;
}

bool explained(const oracle::Finding& finding) {
  const Phase phase = finding.what.phase;
  return finding.rule == "non_finite" && phase != Phase::kForward && phase != Phase::kLoss &&
         phase != Phase::kUpdate && phase != Phase::kParamSync;
}

}  // namespace

std::string take_out_skipped_step(SideStep& side) {
  if (!found_inf(side) || !parameters_unchanged(side)) return "";
  auto findings = std::move(side.findings);
  side.findings.clear();
  for (auto& list : side.findings_of) list.clear();
  for (auto& finding : findings) {
    if (!explained(finding)) side.add_finding(std::move(finding));
  }
  return "step " + std::to_string(side.step->step) +
         ": gradient overflow found, step skipped, parameters unchanged";
}

}  // namespace nanhunt::compare
