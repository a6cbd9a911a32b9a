// SPDX-License-Identifier: Apache-2.0
// With --before: an optimizer's step counter is larger than in the older checkpoint, where any
// parameter moved.
#include <algorithm>

#include "checkpoint/rule.h"

namespace nanhunt::checkpoint {
namespace {

Number value_of(const Held& held) {
  std::vector<std::byte> bytes(static_cast<size_t>(held.tensor->bytes));
  TensorData(held.file->header).read(*held.tensor, 0, bytes);
  return number_at(*held.tensor->type, bytes.data(), 0);
}

}  // namespace

RuleResult step_did_not_move(const Evidence& evidence) {
  RuleResult result;
  if (evidence.before == nullptr) return result;
  const Paired paired = pair_up(evidence.now, *evidence.before);
  const bool moved = std::any_of(paired.pairs.begin(), paired.pairs.end(), [](const Pair& pair) {
    return is_parameter(pair.now->kind) && !same_bits(*pair.now, *pair.before);
  });
  if (!moved) return result;
  for (const Pair& pair : paired.pairs) {
    if (pair.now->kind != TensorKind::kStep || pair.before->kind != TensorKind::kStep) continue;
    const Number now = value_of(*pair.now), before = value_of(*pair.before);
    if (!(now.value <= before.value)) continue;
    Finding finding = finding_of("step_did_not_move", oracle::Severity::kSuspicious, *pair.now);
    finding.affected = 1;
    set_first(&finding, *pair.now, {0, now});
    finding.other_value = before.text;
    finding.evidence = now.value < before.value
                           ? "it went back: is the older checkpoint the newer one?"
                           : "parameters moved, the step counter did not";
    result.findings.push_back(finding);
  }
  return result;
}

}  // namespace nanhunt::checkpoint
