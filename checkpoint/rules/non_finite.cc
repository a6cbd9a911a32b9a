// SPDX-License-Identifier: Apache-2.0
// No floating tensor holds NaN or Inf. By design are -Inf in a mask, and the Inf from which the
// observers of torch.ao start (min_val +Inf, max_val -Inf).
#include "checkpoint/rule.h"

namespace nanhunt::checkpoint {
namespace {

bool by_design(const Held& held) {
  const trace::Statistics& seen = held.facts.statistics;
  const std::string last = components_of(held.name()).back();
  if (seen.nan > 0 || held.facts.nan_codes > 0) return false;
  if (last.find("mask") != std::string::npos || last == "max_val") return seen.pos_inf == 0;
  return last == "min_val" && seen.neg_inf == 0;
}

std::string kinds_text(const TensorFacts& facts) {
  std::string text;
  const auto add = [&](const std::string& word, uint64_t count) {
    if (count > 0) text += (text.empty() ? "" : ", ") + word + " " + std::to_string(count);
  };
  add("NaN", facts.statistics.nan + facts.nan_codes);
  add("Inf", facts.statistics.pos_inf);
  add("-Inf", facts.statistics.neg_inf);
  return text;
}

}  // namespace

RuleResult non_finite(const Evidence& evidence) {
  RuleResult result;
  for (const Held& held : evidence.now.tensors) {
    if (!held.tensor->type->floating || held.facts.non_finite() == 0 || by_design(held)) continue;
    Finding finding = finding_of("non_finite", oracle::Severity::kProven, held);
    finding.affected = static_cast<int64_t>(held.facts.non_finite());
    const TensorData data(held.file->header);
    const Selected selected = select(data, *held.tensor, non_finite_at, false);
    if (selected.first) set_first(&finding, held, *selected.first);
    finding.evidence = kinds_text(held.facts);
    result.findings.push_back(finding);
  }
  return result;
}

}  // namespace nanhunt::checkpoint
