// SPDX-License-Identifier: Apache-2.0
// collective_residual: the result of a sum over ranks against the sum of its captured operands, in
// FP64, by sketches (which are linear). With n members, u = eps/2, u_acc of the accumulation type
// and u_out of the result's:
//   ||out - sum x_r / divisor|| <= u_out ||out|| + (gamma_(n-1)(u_acc) + [prescaled] u_acc) sum
//   ||x_r|| / divisor
//                                  + sqrt(N) subnormal
// (Higham, section 4.2: any order of n terms costs at most n-1 roundings each), widened by the
// sketch's own error. An all-reduce is checked on each rank; a reduce-scatter over its results
// together. Maxima are exact.
#include <cmath>

#include "oracle/rules/reduction_range.h"
#include "oracle/rules/rule_tools.h"
#include "oracle/rules/rules.h"

namespace nanhunt::oracle {
namespace {

struct Total {
  trace::Sketch sketch{};
  double sum_of_norms = 0;
  double largest = -INFINITY;  // maximum of the finite values
  bool masked = false;
  bool complete = true;
};

void add_to(Total& total, const trace::Record* record) {
  if (record == nullptr || record->regions.empty()) {
    total.complete = false;
    return;
  }
  double squares = 0;
  for (const auto& region : record->regions) {
    for (size_t b = 0; b < total.sketch.size(); ++b) total.sketch[b] += region.sketch[b];
    squares += region.sum_squares;
    total.masked = total.masked || region.masked();
  }
  total.sum_of_norms += std::sqrt(squares);
  total.largest = std::max(total.largest, record->statistics.max);
}

double allowed_norm(const trace::Collective& entry, const trace::Record& out, double norm_out,
                    double sum_of_norms, double widening) {
  const double n = static_cast<double>(entry.group.size());
  const double u_acc = trace::unit_roundoff(entry.accumulate);
  const double u_out = trace::unit_roundoff(out.storage);
  const double terms = gamma(n - 1, u_acc) + (entry.prescaled ? u_acc : 0);
  return widening * (u_out * norm_out + terms * sum_of_norms / entry.divisor) +
         std::sqrt(static_cast<double>(out.statistics.count)) * trace::min_subnormal(out.storage);
}

class ReductionCheck {
 public:
  ReductionCheck(const RuleInput& input, const Meeting& meeting, size_t position)
      : input_(input), meeting_(meeting), position_(position) {
    for (const int index : meeting.entries)
      add_to(inputs_, operand(input.step, entry(index), position));
  }

  void run(std::vector<Finding>& findings) const {
    if (!inputs_.complete) return;
    const auto& first = entry(meeting_.entries.front());
    if (first.reduce == trace::ReduceOp::kMax) return check_max(findings);
    if (first.reduce != trace::ReduceOp::kSum || inputs_.masked) return;
    if (first.op == "all_reduce") {
      for (const int index : meeting_.entries) check_sum({index}, findings);
    } else {
      check_sum(meeting_.entries, findings);
    }
  }

 private:
  const trace::Collective& entry(int index) const {
    return input_.step.collectives[static_cast<size_t>(index)];
  }

  // The results of these entries together are the whole result.
  void check_sum(const std::vector<int>& entries, std::vector<Finding>& findings) const {
    Total outputs;
    for (const int index : entries) add_to(outputs, result(input_.step, entry(index), position_));
    if (!outputs.complete) return;
    const auto& first = entry(entries.front());
    const auto& out = *result(input_.step, first, position_);
    trace::Sketch difference = outputs.sketch;
    for (size_t b = 0; b < difference.size(); ++b)
      difference[b] -= inputs_.sketch[b] / first.divisor;
    const double measured = trace::sketch_norm(difference);
    const double allowed = allowed_norm(first, out, outputs.sum_of_norms, inputs_.sum_of_norms,
                                        input_.thresholds["sketch_widening"]);
    if (!outputs.masked && measured <= allowed) return;
    Finding finding = finding_about(out, "collective_residual", Severity::kProven);
    for (const int index : entries) {
      const auto* record = result(input_.step, entry(index), position_);
      if (record != &out) add_record(finding, *record);
    }
    finding.decider = entries.size() == 1 ? Decider::kRecomputation : Decider::kNone;
    finding.measured = measured;
    finding.allowed = allowed;
    finding.unit = "norm";
    finding.evidence = outputs.masked ? non_finite_result(first.op)
                                      : first.op + " over ranks " + list_of(first.group) +
                                            ": result differs from the sum of its operands by " +
                                            short_number(measured) + " (norm of the sum " +
                                            short_number(outputs.sum_of_norms) + ")";
    findings.push_back(std::move(finding));
  }

  std::string non_finite_result(const std::string& op) const {
    const ReductionRange range = range_of_reduction(input_.step, meeting_, position_);
    const std::string text = "finite operands, non-finite result of the " + op;
    if (range.can_overflow()) return text + ": overflow in the reduction";
    return text + ", though no partial sum can be above " + short_number(range.largest);
  }

  void check_max(std::vector<Finding>& findings) const {
    if (inputs_.masked) return;
    for (const int index : meeting_.entries) {
      const auto* out = result(input_.step, entry(index), position_);
      if (out == nullptr || out->statistics.max == inputs_.largest) continue;
      Finding finding = finding_about(*out, "collective_residual", Severity::kProven);
      finding.decider = Decider::kRecomputation;
      finding.measured = out->statistics.max;
      finding.allowed = inputs_.largest;
      finding.unit = "maximum";
      finding.evidence = "the largest operand is " + short_number(inputs_.largest) +
                         ", the largest result " + short_number(out->statistics.max);
      findings.push_back(std::move(finding));
    }
  }

  const RuleInput& input_;
  const Meeting& meeting_;
  size_t position_;
  Total inputs_;
};

std::vector<Finding> check(const RuleInput& input) {
  std::vector<Finding> findings;
  for (const Meeting& meeting : meetings(input.step)) {
    const auto& first = input.step.collectives[static_cast<size_t>(meeting.entries.front())];
    if (!meeting.whole || !first.is_reduction()) continue;
    for (size_t k = 0; k < first.outputs.size(); ++k)
      ReductionCheck(input, meeting, k).run(findings);
  }
  return findings;
}

}  // namespace

Rule collective_residual() {
  return {"collective_residual", Severity::kProven, trace::Level::kStats,
          "the result of a reduction is the sum of its operands", check};
}

}  // namespace nanhunt::oracle
