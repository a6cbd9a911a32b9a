// SPDX-License-Identifier: Apache-2.0
// With --before: two checkpoints of one run hold the same tensors, of the same types and shapes.
// States of an optimizer that the older one has not yet are no finding: they come with the first
// step.
#include <algorithm>

#include "capsule/load.h"
#include "checkpoint/rule.h"

namespace nanhunt::checkpoint {
namespace {

bool is_state(const Held& held) {
  return held.kind == TensorKind::kFirstMoment || held.kind == TensorKind::kSecondMoment ||
         held.kind == TensorKind::kStep;
}

// State that a conversion found no parameter for (docs/conversion.md).
bool is_unmapped(const Held& held) {
  return held.tensor->name.starts_with("unmapped.");
}

std::string form_text(const Held& held) {
  return std::string(held.tensor->type->name) + " " + capsule::shape_text(held.tensor->shape);
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
  // Which of the other's states an unmapped one is, nothing says.
  const auto is_unmapped_one = [](const Held* held) { return is_unmapped(*held); };
  const bool unmapped = std::ranges::any_of(paired.only_before, is_unmapped_one) ||
                        std::ranges::any_of(paired.only_now, is_unmapped_one);
  int64_t not_held = 0;
  for (const Held* held : paired.only_before) {
    if (unmapped && is_state(*held)) {
      ++not_held;
      continue;
    }
    add("missing", oracle::Severity::kProven, *held,
        "the older checkpoint has it, this one lacks it");
  }
  int64_t new_states = 0;
  for (const Held* held : paired.only_now) {
    if (is_state(*held)) {
      ++(unmapped ? not_held : new_states);
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
  if (not_held > 0) {
    result.notes.push_back(counted(not_held, "state") +
                           " of the optimizer not held against the other checkpoint's: one of them "
                           "names no parameter for some");
  }
  return result;
}

}  // namespace nanhunt::checkpoint
