// SPDX-License-Identifier: Apache-2.0
// A weight with at least two dimensions above 1 is not all zero, unless training starts it there
// (kZeroInit). Nor is a moment once the optimizer made steps: no gradient ever reached that
// parameter, or the moment was reset. Steps are told by a counter above 0 or, without one, by most
// other moments of that kind being not zero. Biases, norms and buffers may be zero, and one element
// may.
#include <algorithm>

#include "checkpoint/rule.h"

namespace nanhunt::checkpoint {
namespace {

bool is_zero(const Held& held) {
  return held.facts.all_zero(*held.tensor->type);
}

bool is_moment(const Held& held) {
  return held.kind == TensorKind::kFirstMoment || held.kind == TensorKind::kSecondMoment;
}

bool steps_were_made(const Examined& now) {
  return std::any_of(now.tensors.begin(), now.tensors.end(), [](const Held& held) {
    return held.kind == TensorKind::kStep && held.facts.statistics.max > 0;
  });
}

bool most_moved(const Examined& now, TensorKind kind) {
  int64_t moments = 0, moved = 0;
  for (const Held& held : now.tensors) {
    if (held.kind != kind || held.tensor->elements == 0) continue;
    ++moments;
    moved += !is_zero(held);
  }
  return 2 * moved > moments;
}

}  // namespace

RuleResult all_zero(const Evidence& evidence) {
  RuleResult result;
  const bool steps = steps_were_made(evidence.now);
  const bool first = most_moved(evidence.now, TensorKind::kFirstMoment),
             second = most_moved(evidence.now, TensorKind::kSecondMoment);
  for (const Held& held : evidence.now.tensors) {
    const bool moved = held.kind == TensorKind::kFirstMoment ? first : second;
    const bool moment = is_moment(held) && held.tensor->elements > 1 && (steps || moved);
    if (!(held.kind == TensorKind::kWeight || moment) || !is_zero(held)) continue;
    Finding finding =
        finding_of(moment ? "zero_moment" : "all_zero", oracle::Severity::kSuspicious, held);
    finding.affected = held.tensor->elements;
    finding.evidence = !moment ? "a weight that was drawn at random and trained is not zero"
                       : steps ? "zero after optimizer steps: no gradient ever reached this "
                                 "parameter, or the moment was reset"
                               : "most others are not zero: no gradient ever reached this "
                                 "parameter, or the moment was reset";
    result.findings.push_back(finding);
  }
  return result;
}

}  // namespace nanhunt::checkpoint
