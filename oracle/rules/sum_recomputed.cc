// SPDX-License-Identifier: Apache-2.0
// sum_recomputed: collective_residual element by element, where result and operands were captured
// in full: each element of a sum over ranks is the sum of those of the operands, in FP64, within
// what rounding explains (the tests and bounds of local replay, docs/rules.md). Sums of n terms: n
// - 1 roundings in the type that the collective accumulates in, one for a divisor, one where terms
// were divided first. A reduce-scatter is checked where its results are slices of the first
// dimension.
#include <algorithm>
#include <cmath>

#include "oracle/logical.h"
#include "oracle/replay/error_test.h"
#include "oracle/rules/rule_tools.h"
#include "oracle/rules/rules.h"

namespace nanhunt::oracle {
namespace {

using trace::Collective;
using trace::Record;

constexpr int64_t kSlice = 1 << 14;  // elements at once: the operands of some ranks stay in cache

// One region, in the order of its logical tensor's dimensions as the other has them.
const trace::Region* only_region(const Record& record) {
  if (!record.placement || trace::is_unknown(*record.placement)) return nullptr;
  const auto& regions = record.placement->regions;
  return regions.size() == 1 && !record.placement->flat ? &regions.front() : nullptr;
}

// Index of the operand's element that result element 0 is the sum of; -1 when the result is no
// slice of the operand along the first dimension.
int64_t start_in_operand(const Record& operand, const Record& result) {
  if (operand.local_shape == result.local_shape) return 0;
  const auto* from = only_region(operand);
  const auto* to = only_region(result);
  if (from == nullptr || to == nullptr || operand.local_shape.empty()) return -1;
  const auto& order = operand.placement->to_logical;
  if (order != result.placement->to_logical || order.empty() ||
      operand.local_shape.size() != result.local_shape.size() ||
      !std::equal(operand.local_shape.begin() + 1, operand.local_shape.end(),
                  result.local_shape.begin() + 1))
    return -1;
  const auto cut = static_cast<size_t>(order.front());
  for (size_t d = 0; d < from->logical_start.size(); ++d) {
    if (d != cut && from->logical_start[d] != to->logical_start[d]) return -1;
  }
  const int64_t row = to->logical_start[cut] - from->logical_start[cut];
  const bool inside = row >= 0 && row + result.local_shape.front() <= operand.local_shape.front();
  return inside ? row * elements_of_row(operand) : -1;
}

class SumCheck {
 public:
  SumCheck(const RuleInput& input, const Collective& entry, const Record& result,
           std::vector<const Record*> operands, std::vector<int64_t> starts)
      : reader_(*input.reader),
        entry_(entry),
        result_(result),
        operands_(std::move(operands)),
        starts_(std::move(starts)),
        lambda_(input.thresholds["suspicious_lambda"]) {}

  ErrorTest run() const {
    const Rounding rounding{
        trace::unit_roundoff(entry_.accumulate), trace::unit_roundoff(result_.storage),
        trace::min_subnormal(result_.storage), trace::max_finite(result_.storage), 0};
    ErrorTester tester(rounding, roundings(), lambda_, elements_of(result_));
    each_slice([&](const auto& found, const Recomputed& sum) {
      tester.add(found, sum.values, sum.magnitudes);
    });
    if (tester.wants_dependence()) {
      each_slice([&](const auto& found, const Recomputed& sum) {
        tester.add_dependence(found, sum.values, sum.magnitudes);
      });
    }
    return tester.result();
  }

 private:
  double roundings() const {
    return static_cast<double>(operands_.size()) - 1 + (entry_.divisor != 1) + entry_.prescaled;
  }

  template <typename Take>
  void each_slice(const Take& take) const {
    const int64_t all = elements_of(result_);
    for (int64_t begin = 0; begin < all; begin += kSlice) {
      const int64_t count = std::min(kSlice, all - begin);
      Recomputed sum{std::vector<double>(static_cast<size_t>(count)),
                     std::vector<double>(static_cast<size_t>(count)), roundings()};
      for (size_t r = 0; r < operands_.size(); ++r) {
        const auto terms = reader_.read_doubles(*operands_[r], starts_[r] + begin, count);
        for (size_t i = 0; i < terms.size(); ++i) {
          sum.values[i] += terms[i] / entry_.divisor;
          sum.magnitudes[i] += std::abs(terms[i] / entry_.divisor);
        }
      }
      take(reader_.read_doubles(result_, begin, count), sum);
    }
  }

  const trace::TraceReader& reader_;
  const Collective& entry_;
  const Record& result_;
  std::vector<const Record*> operands_;
  std::vector<int64_t> starts_;
  double lambda_;
};

Finding finding_of(const Record& result, const Collective& entry, const ErrorTest& test) {
  const bool proven = test.proven > 1;
  Finding finding =
      finding_about(result, "sum_recomputed", proven ? Severity::kProven : Severity::kSuspicious);
  finding.decider = Decider::kRecomputation;
  finding.measured = proven ? test.proven : test.suspicious();
  finding.allowed = 1;
  const std::string name = proven ? "element" : test.leading();
  finding.unit = name == "element" ? "of the bound, worst element" : "of the bound, " + name;
  finding.evidence = entry.op + " over ranks " + list_of(entry.group) + ": element " +
                     std::to_string(test.worst) + " is " + short_number(test.found) +
                     " where the operands add up to " + short_number(test.expected);
  return finding;
}

void check_meeting(const RuleInput& input, const Meeting& meeting, size_t position,
                   std::vector<Finding>& findings) {
  std::vector<const Record*> operands;
  for (const int index : meeting.entries) {
    const auto& entry = input.step.collectives[static_cast<size_t>(index)];
    operands.push_back(operand(input.step, entry, position));
    if (operands.back() == nullptr || !operands.back()->has_values) return;
  }
  for (const int index : meeting.entries) {
    const auto& entry = input.step.collectives[static_cast<size_t>(index)];
    const Record* out = result(input.step, entry, position);
    if (out == nullptr || !out->has_values || !trace::is_floating(out->storage)) continue;
    std::vector<int64_t> starts;
    for (const Record* one : operands) starts.push_back(start_in_operand(*one, *out));
    if (std::ranges::min(starts) < 0) continue;
    const ErrorTest test = SumCheck(input, entry, *out, operands, std::move(starts)).run();
    if (test.proven > 1 || test.suspicious() > 1) findings.push_back(finding_of(*out, entry, test));
  }
}

std::vector<Finding> check(const RuleInput& input) {
  std::vector<Finding> findings;
  if (input.reader == nullptr) return findings;
  for (const Meeting& meeting : meetings(input.step)) {
    const auto& first = input.step.collectives[static_cast<size_t>(meeting.entries.front())];
    if (!meeting.whole || !first.is_reduction() || first.reduce != trace::ReduceOp::kSum) continue;
    for (size_t k = 0; k < first.outputs.size(); ++k) check_meeting(input, meeting, k, findings);
  }
  return findings;
}

}  // namespace

Rule sum_recomputed() {
  return {"sum_recomputed", Severity::kProven, trace::Level::kFull,
          "each element of a sum over ranks is the sum of its operands", check};
}

}  // namespace nanhunt::oracle
