// SPDX-License-Identifier: Apache-2.0
// The elements of a weight with at least two dimensions above 1 are not all the same value.
#include "checkpoint/rule.h"

namespace nanhunt::checkpoint {

RuleResult constant(const Evidence& evidence) {
  RuleResult result;
  for (const Held& held : evidence.now.tensors) {
    const ElementType& type = *held.tensor->type;
    if (held.kind != TensorKind::kWeight && held.kind != TensorKind::kZeroInit) continue;
    if (!held.facts.constant(type) || held.facts.all_zero(type)) continue;
    Finding finding = finding_of("constant", oracle::Severity::kSuspicious, held);
    finding.affected = held.tensor->elements;
    const TensorData data(held.file->header);
    const Selected selected = select(
        data, *held.tensor, [](const ElementType&, const void*, int64_t) { return true; }, false);
    if (selected.first) set_first(&finding, held, *selected.first);
    finding.evidence = "all elements have this one value";
    result.findings.push_back(finding);
  }
  return result;
}

}  // namespace nanhunt::checkpoint
