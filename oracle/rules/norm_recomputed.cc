// SPDX-License-Identifier: Apache-2.0
// norm_recomputed: the global gradient norm against the root of the sum of squares of the unscaled
// gradients, each logical element counted once. FP32 sums of n squares: relative error of the norm
// at most gamma_(n+2)(u)/2 in any order (proven), about lambda sqrt(n) u / 2 in practice
// (suspicious). Source: replicated parameters counted once per tensor-parallel rank, NVIDIA-NeMo/RL
// pull request 3788.
#include <algorithm>
#include <cmath>

#include "oracle/logical.h"
#include "oracle/rules/rule_tools.h"
#include "oracle/rules/rules.h"

namespace nanhunt::oracle {
namespace {

struct Expected {
  double norm = 0;
  double elements = 0;
  bool known = false;
};

Expected recompute(const RuleInput& input) {
  Expected expected;
  double squares = 0;
  for (const Logical& logical : assemble(input.step, input.facts)) {
    if (logical.what.phase != trace::Phase::kUnscaled || logical.what.role != "grad") continue;
    if (!logical.complete || logical.partial || logical.print.masked()) return {};
    squares += logical.print.sum_squares;
    expected.elements += static_cast<double>(logical.count);
  }
  expected.norm = std::sqrt(squares);
  expected.known = expected.elements > 0;
  return expected;
}

std::vector<Finding> check(const RuleInput& input) {
  std::vector<Finding> findings;
  const bool captured = std::ranges::any_of(input.step.records, [](const trace::Record& record) {
    return record.what.role == "grad_norm";
  });
  if (!captured) return findings;
  const Expected expected = recompute(input);
  if (!expected.known) return findings;
  for (const auto& record : input.step.records) {
    const auto norm = record.what.role == "grad_norm" ? scalar_of(record) : std::nullopt;
    if (!norm || !std::isfinite(*norm)) continue;
    const double u = trace::unit_roundoff(record.compute);
    const double proven = expected.norm * (gamma(expected.elements + 2, u) / 2 + u);
    const double suspicious =
        expected.norm *
        (input.thresholds["suspicious_lambda"] * std::sqrt(expected.elements) * u / 2 + u);
    const double off = std::abs(*norm - expected.norm);
    if (off <= std::min(proven, suspicious)) continue;
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
