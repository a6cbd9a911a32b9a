// SPDX-License-Identifier: Apache-2.0
// gathered_equals_pieces: what an all-gather gives holds exactly the pieces that went in. Value
// digests are indexed logically, so those of the distinct input regions add up to that of the
// output.
#include <set>

#include "oracle/rules/rule_tools.h"
#include "oracle/rules/rules.h"

namespace nanhunt::oracle {
namespace {

// Sum of digests over the distinct regions of all members; false when an operand is not there.
bool digest_of_inputs(const trace::Step& step, const Meeting& meeting, size_t position,
                      uint64_t* digest) {
  std::set<std::vector<int64_t>> seen;
  *digest = 0;
  for (const int index : meeting.entries) {
    const auto* record = operand(step, step.collectives[static_cast<size_t>(index)], position);
    if (record == nullptr || record->regions.empty()) return false;
    for (size_t r = 0; r < record->regions.size(); ++r) {
      const auto& region = record->placement->regions[r];
      auto place = region.logical_start;
      place.insert(place.end(), region.extent.begin(), region.extent.end());
      if (seen.insert(place).second) *digest += record->regions[r].value_digest;
    }
  }
  return true;
}

uint64_t digest_of(const trace::Record& record) {
  uint64_t digest = 0;
  for (const auto& region : record.regions) digest += region.value_digest;
  return digest;
}

void check_meeting(const trace::Step& step, const Meeting& meeting,
                   std::vector<Finding>& findings) {
  const auto& first = step.collectives[static_cast<size_t>(meeting.entries.front())];
  for (size_t k = 0; k < first.outputs.size(); ++k) {
    uint64_t expected = 0;
    if (!digest_of_inputs(step, meeting, k, &expected)) continue;
    for (const int index : meeting.entries) {
      const auto& entry = step.collectives[static_cast<size_t>(index)];
      const auto* record = result(step, entry, k);
      if (record == nullptr || record->regions.empty() || digest_of(*record) == expected) continue;
      Finding finding = finding_about(*record, "gathered_equals_pieces", Severity::kProven);
      finding.decider = Decider::kRecomputation;
      finding.measured = 1;
      finding.unit = "results that differ from their pieces";
      finding.evidence = "rank " + std::to_string(entry.rank) + " holds other values than ranks " +
                         list_of(entry.group) + " sent";
      findings.push_back(std::move(finding));
    }
  }
}

std::vector<Finding> check(const RuleInput& input) {
  std::vector<Finding> findings;
  for (const Meeting& meeting : meetings(input.step)) {
    const auto& first = input.step.collectives[static_cast<size_t>(meeting.entries.front())];
    if (meeting.whole && first.op == "all_gather") check_meeting(input.step, meeting, findings);
  }
  return findings;
}

}  // namespace

Rule gathered_equals_pieces() {
  return {"gathered_equals_pieces", Severity::kProven, trace::Level::kStats,
          "an all-gather gives exactly the pieces that went in", check};
}

}  // namespace nanhunt::oracle
