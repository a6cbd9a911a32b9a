// SPDX-License-Identifier: Apache-2.0
// With --before: parameters that are equal to the bit in both checkpoints while most others moved
// (frozen), and a checkpoint in which none moved (nothing_moved). Where most are unchanged, as
// under LoRA, freezing is the design and is only counted.
#include "checkpoint/rule.h"

namespace nanhunt::checkpoint {
namespace {

bool is_state(TensorKind kind) {
  return kind == TensorKind::kFirstMoment || kind == TensorKind::kSecondMoment;
}

struct Moved {
  std::vector<const Held*> unchanged;
  int64_t moved = 0;

  int64_t all() const { return moved + static_cast<int64_t>(unchanged.size()); }
};

template <class Wanted>
Moved look(const Paired& paired, Wanted wanted) {
  Moved result;
  for (const Pair& pair : paired.pairs) {
    if (!wanted(pair.now->kind) || pair.now->tensor->elements == 0) continue;
    if (!same_form(*pair.now, *pair.before)) continue;
    if (same_bits(*pair.now, *pair.before)) {
      result.unchanged.push_back(pair.now);
    } else {
      ++result.moved;
    }
  }
  return result;
}

std::string precision_text(const Held& held) {
  if (held.tensor->type->bits >= 32) return "";
  return "; " + std::string(held.tensor->type->name) +
         " also loses updates below half a unit in the last place";
}

void add_frozen(const Moved& seen, const std::string& what, RuleResult* result) {
  if (seen.unchanged.empty()) return;
  if (2 * seen.moved <= seen.all()) {
    result->notes.push_back(std::to_string(seen.unchanged.size()) + " of " +
                            counted(seen.all(), what) +
                            " did not change: not judged, as most did not");
    return;
  }
  for (const Held* held : seen.unchanged) {
    // A moment that is and stays zero belongs to a parameter without gradients: all_zero tells.
    const bool zero = held->facts.all_zero(*held->tensor->type);
    if (zero && (is_state(held->kind) || held->kind == TensorKind::kBias)) continue;
    Finding finding = finding_of("frozen", oracle::Severity::kSuspicious, *held);
    finding.affected = held->tensor->elements;
    finding.evidence = "equal to the bit in the older checkpoint; " + std::to_string(seen.moved) +
                       " of " + counted(seen.all(), what) + " moved" + precision_text(*held);
    result->findings.push_back(finding);
  }
}

}  // namespace

RuleResult unchanged(const Evidence& evidence) {
  RuleResult result;
  if (evidence.before == nullptr) return result;
  const Paired paired = pair_up(evidence.now, *evidence.before);
  const Moved parameters = look(paired, is_parameter);
  if (parameters.moved == 0 && !parameters.unchanged.empty()) {
    Finding finding =
        finding_of("nothing_moved", oracle::Severity::kSuspicious, *parameters.unchanged.front());
    finding.affected = finding.elements;
    finding.evidence =
        "none of " + counted(parameters.all(), "parameter") + " differs from the older checkpoint";
    result.findings.push_back(finding);
    return result;
  }
  add_frozen(parameters, "parameter", &result);
  add_frozen(look(paired, is_state), "moment", &result);
  return result;
}

}  // namespace nanhunt::checkpoint
