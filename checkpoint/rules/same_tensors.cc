// SPDX-License-Identifier: Apache-2.0
// With --before: two checkpoints of one run hold the same tensors, of the same types and shapes.
// States of an optimizer that the older one has not yet are no finding: they come with the first
// step.
#include "checkpoint/rule.h"

namespace nanhunt::checkpoint {
namespace {

bool is_state(const Held& held) {
  return held.kind == TensorKind::kFirstMoment || held.kind == TensorKind::kSecondMoment ||
         held.kind == TensorKind::kStep;
}

std::string form_text(const Held& held) {
  return std::string(held.tensor->type->name) + " " + shape_text(held.tensor->shape);
}

}  // namespace

RuleResult same_tensors(const Evidence& evidence) {
  RuleResult result;
  if (evidence.before == nullptr) return result;
  const Paired paired = pair_up(evidence.now, *evidence.before);
  const auto add = [&](const char* rule, oracle::Severity severity, const Held& held,
                       const std::string& text) {
    Finding finding = finding_of(rule, severity, held);
    finding.affected = held.tensor->elements;
    finding.evidence = text;
    result.findings.push_back(finding);
  };
  for (const Held* held : paired.only_before) {
    add("missing", oracle::Severity::kProven, *held,
        "the older checkpoint has it, this one lacks it");
  }
  int64_t new_states = 0;
  for (const Held* held : paired.only_now) {
    if (is_state(*held)) {
      ++new_states;
    } else {
      add("extra", oracle::Severity::kSuspicious, *held, "the older checkpoint lacks it");
    }
  }
  for (const Pair& pair : paired.pairs) {
    if (same_form(*pair.now, *pair.before)) continue;
    const bool type = pair.now->tensor->shape == pair.before->tensor->shape;
    add(type ? "other_dtype" : "other_shape", oracle::Severity::kProven, *pair.now,
        "the older checkpoint has " + form_text(*pair.before));
  }
  if (new_states > 0) {
    result.notes.push_back(counted(new_states, "state") +
                           " of the optimizer that the older checkpoint lacks");
  }
  return result;
}

}  // namespace nanhunt::checkpoint
