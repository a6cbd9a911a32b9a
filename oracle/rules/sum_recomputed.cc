// SPDX-License-Identifier: Apache-2.0
// sum_recomputed: collective_residual element by element, where result and operands were captured
// in full: each element of a sum over ranks is the sum of those of the operands, in FP64, within
// what rounding explains (the tests and bounds of local replay, docs/rules.md). Sums of n terms: n
// - 1 roundings in the type that the collective accumulates in, one for a divisor, one where terms
// were divided first. A reduce-scatter is checked where placements tell which elements of the
// operands each result is made of (parts_of_result.h).
#include <algorithm>
#include <cmath>

#include "oracle/replay/error_test.h"
#include "oracle/replay/tensor.h"
#include "oracle/rules/parts_of_result.h"
#include "oracle/rules/rule_tools.h"
#include "oracle/rules/rules.h"

namespace nanhunt::oracle {
namespace {

using trace::Collective;
using trace::Record;

constexpr int64_t kSlice = 1 << 14;  // elements at once: the operands of some ranks stay in cache

// One operand of the sum, and which of its elements the result consists of.
class Terms {
 public:
  Terms(const trace::TraceReader& reader, const Record& record, std::vector<Part> parts)
      : reader_(reader), record_(record), all_(elements_of(record)), parts_(std::move(parts)) {}

  // Calls with(i, term) for the terms of result elements begin + i, i < count.
  template <typename With>
  void each(int64_t begin, int64_t count, const With& with) {
    auto part = std::ranges::upper_bound(parts_, begin, {},
                                         [](const Part& one) { return one.result + one.length; });
    for (; part != parts_.end() && part->result < begin + count; ++part) {
      const int64_t first = std::max(begin, part->result);
      const int64_t length = std::min(begin + count, part->result + part->length) - first;
      const double* terms = read(part->operand + first - part->result, length);
      for (int64_t i = 0; i < length; ++i) with(static_cast<size_t>(first - begin + i), terms[i]);
    }
  }

 private:
  // Short parts that lie near each other are read together.
  const double* read(int64_t start, int64_t length) {
    constexpr int64_t kAhead = 1 << 10;
    const auto have = static_cast<int64_t>(values_.size());
    if (start < first_ || start + length > first_ + have) {
      first_ = start;
      reader_.read_doubles(record_, start, std::min(std::max(length, kAhead), all_ - start),
                           values_);
    }
    return values_.data() + (start - first_);
  }

  const trace::TraceReader& reader_;
  const Record& record_;
  int64_t all_;
  std::vector<Part> parts_;
  int64_t first_ = 0;
  std::vector<double> values_;  // of the operand from first_ on
};

class SumCheck {
 public:
  SumCheck(const RuleInput& input, const Collective& entry, const Record& result,
           std::vector<Terms> operands)
      : reader_(*input.reader),
        entry_(entry),
        result_(result),
        operands_(std::move(operands)),
        lambda_(input.thresholds["suspicious_lambda"]) {}

  ErrorTest run() {
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
  void each_slice(const Take& take) {
    const int64_t all = elements_of(result_);
    for (int64_t begin = 0; begin < all; begin += kSlice) {
      const int64_t count = std::min(kSlice, all - begin);
      // Padding has no terms, and is left out as what nobody can say.
      Recomputed sum{std::vector<double>(static_cast<size_t>(count), NAN),
                     std::vector<double>(static_cast<size_t>(count)), roundings()};
      bool first = true;
      for (Terms& terms : operands_) {
        terms.each(begin, count, [&](size_t i, double term) {
          if (first) sum.values[i] = 0;
          sum.values[i] += term / entry_.divisor;
          sum.magnitudes[i] += std::abs(term / entry_.divisor);
        });
        first = false;
      }
      take(reader_.read_doubles(result_, begin, count), sum);
    }
  }

  const trace::TraceReader& reader_;
  const Collective& entry_;
  const Record& result_;
  std::vector<Terms> operands_;
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
    std::vector<Terms> terms;
    for (const Record* one : operands) {
      if (auto parts = parts_of_result(*one, *out))
        terms.emplace_back(*input.reader, *one, std::move(*parts));
    }
    if (terms.size() < operands.size()) continue;
    const ErrorTest test = SumCheck(input, entry, *out, std::move(terms)).run();
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
