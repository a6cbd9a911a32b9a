// SPDX-License-Identifier: Apache-2.0
// A weight with at least two dimensions above 1 is not all zero, unless training starts it there
// (kZeroInit); nor is a second moment while most others are not: no gradient ever reached that
// parameter. Biases, norms and buffers may be.
#include "checkpoint/rule.h"

namespace nanhunt::checkpoint {
namespace {

bool is_zero(const Held& held) {
  return held.facts.all_zero(*held.tensor->type);
}

bool most_moments_moved(const Examined& now) {
  int64_t moments = 0, moved = 0;
  for (const Held& held : now.tensors) {
    if (held.kind != TensorKind::kSecondMoment || held.tensor->elements == 0) continue;
    ++moments;
    moved += !is_zero(held);
  }
  return 2 * moved > moments;
}

}  // namespace

RuleResult all_zero(const Evidence& evidence) {
  RuleResult result;
  const bool judge_moments = most_moments_moved(evidence.now);
  for (const Held& held : evidence.now.tensors) {
    const bool moment = held.kind == TensorKind::kSecondMoment && judge_moments;
    if (!(held.kind == TensorKind::kWeight || moment) || !is_zero(held)) continue;
    Finding finding = finding_of("all_zero", oracle::Severity::kSuspicious, held);
    finding.affected = held.tensor->elements;
    finding.evidence = moment ? "most other second moments are not zero: no gradient ever reached "
                                "this parameter"
                              : "a weight that was drawn at random and trained is not zero";
    result.findings.push_back(finding);
  }
  return result;
}

}  // namespace nanhunt::checkpoint
