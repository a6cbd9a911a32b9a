// SPDX-License-Identifier: Apache-2.0
// norm_recomputed: the global gradient norm against the root of the sum of squares of the unscaled
// gradients, each logical element counted once; a step may take several norms, each of the
// gradients that have its number. Norms by another formula (attribute `norm_type`) are not judged;
// those that are of further tensors, which were not captured (`strangers`), may be no smaller.
// FP32 sums of n squares: relative error of the norm at most gamma_(n+2)(u)/2 in any order
// (proven), about lambda sqrt(n) u / 2 in practice (suspicious). Source: replicated parameters
// counted once per tensor-parallel rank, NVIDIA-NeMo/RL pull request 3788.
#include <algorithm>
#include <cmath>
#include <map>

#include "oracle/logical.h"
#include "oracle/rules/rule_tools.h"
#include "oracle/rules/rules.h"

namespace nanhunt::oracle {
namespace {

struct Expected {
  double norm = 0;
  double elements = 0;
  bool known = true;  // all its gradients are whole and finite
};

// By number of the norm.
std::map<int64_t, Expected> recompute(const RuleInput& input) {
  std::map<int64_t, Expected> result;
  for (const Logical& logical : assemble(input.step, input.facts)) {
    if (logical.what.phase != trace::Phase::kUnscaled || logical.what.role != "grad") continue;
    const int first = input.step.by_what().at(logical.what).front();
    Expected& expected = result[norm_number(record_at(input.step, first))];
    if (!logical.complete || logical.partial || logical.print.masked()) expected.known = false;
    expected.norm = std::hypot(expected.norm, std::sqrt(logical.print.sum_squares));
    expected.elements += static_cast<double>(logical.count);
  }
  return result;
}

std::vector<Finding> check(const RuleInput& input) {
  std::vector<Finding> findings;
  const bool captured = std::ranges::any_of(input.step.records, [](const trace::Record& record) {
    return record.what.role == "grad_norm";
  });
  if (!captured) return findings;
  const auto by_number = recompute(input);
  for (const auto& record : input.step.records) {
    const auto norm = record.what.role == "grad_norm" ? scalar_of(record) : std::nullopt;
    if (!norm || !std::isfinite(*norm) || says(record, "norm_type")) continue;
    const auto found = by_number.find(norm_number(record));
    if (found == by_number.end() || !found->second.known) continue;
    const Expected& expected = found->second;
    const double u = trace::unit_roundoff(record.compute);
    const double proven = expected.norm * (gamma(expected.elements + 2, u) / 2 + u);
    const double suspicious =
        expected.norm *
        (input.thresholds["suspicious_lambda"] * std::sqrt(expected.elements) * u / 2 + u);
    const double off = std::abs(*norm - expected.norm);
    const bool of_more = says(record, "strangers") && *norm > expected.norm;
    if (of_more || off <= std::min(proven, suspicious)) continue;
    Finding finding = finding_about(record, "norm_recomputed",
                                    off > proven ? Severity::kProven : Severity::kSuspicious);
    finding.decider = Decider::kRecomputation;
    finding.measured = *norm;
    finding.allowed = expected.norm;
    finding.unit = "gradient norm";
    finding.evidence = "the unscaled gradients have norm " + short_number(expected.norm) +
                       ", the optimizer used " + short_number(*norm);
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace

Rule norm_recomputed() {
  return {"norm_recomputed", Severity::kProven, trace::Level::kStats,
          "the gradient norm counts each logical element once", check};
}

}  // namespace nanhunt::oracle
