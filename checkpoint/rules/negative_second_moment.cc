// SPDX-License-Identifier: Apache-2.0
// exp_avg_sq is a mean of squares with weights that are not negative (Kingma and Ba, Adam, 2015):
// no rounding makes it negative.
#include "checkpoint/rule.h"

namespace nanhunt::checkpoint {

RuleResult negative_second_moment(const Evidence& evidence) {
  RuleResult result;
  for (const Held& held : evidence.now.tensors) {
    if (held.kind != TensorKind::kSecondMoment || held.tensor->type->coded) continue;
    if (held.tensor->type->views() != 1) continue;  // complex: the square of the absolute value
    const trace::Statistics& seen = held.facts.statistics;
    if (seen.neg_inf == 0 && (seen.finite() == 0 || !(seen.min < 0))) continue;
    Finding finding = finding_of("negative_second_moment", oracle::Severity::kProven, held);
    const TensorData data(held.file->header);
    const Selected selected = select(
        data, *held.tensor,
        [](const ElementType& type, const void* bytes, int64_t index) {
          return number_at(type, bytes, index).value < 0;
        },
        true);
    finding.affected = selected.count;
    if (selected.first) set_first(&finding, held, *selected.first);
    finding.evidence = "a mean of squares cannot be negative";
    result.findings.push_back(finding);
  }
  return result;
}

}  // namespace nanhunt::checkpoint
