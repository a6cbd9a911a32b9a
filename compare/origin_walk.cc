// SPDX-License-Identifier: Apache-2.0
#include "compare/origin_walk.h"

#include <algorithm>
#include <map>

#include "compare/reference_findings.h"

namespace nanhunt::compare {

bool is_carried_state(const trace::Record& record) {
  return record.what.phase == trace::Phase::kForward && record.what.role == "param";
}

OriginWalk::OriginWalk(const SideStep& side) : side_(side), seen_(side.step->records.size(), 0) {}

OriginWalk::Mark OriginWalk::mark(int record, const std::string& rule) const {
  const auto index = static_cast<size_t>(record);
  if (!side_.findings_of[index].empty()) return Mark::kBad;
  switch (side_.judged[index].standing) {
    case Standing::kOut:
      return Mark::kBad;
    case Standing::kUndecided:
      return needs_reference(rule) ? Mark::kUndecided : Mark::kWithin;
    case Standing::kWithin:
      return Mark::kWithin;
    case Standing::kUnjudged:
      break;
  }
  if (needs_reference(rule)) return Mark::kPass;
  if (rule == "non_finite") return Mark::kWithin;
  return side_.has_copies[index] ? Mark::kWithin : Mark::kPass;
}

Boundary OriginWalk::walk(const std::vector<int>& records, const std::string& rule,
                          bool through_undecided) {
  ++walks_;
  Boundary boundary;
  std::map<int, double> errors;  // by logical tensor: pieces and copies of one enter once
  const auto judge = [&](int record) {
    double& error = errors[side_.logical_of[static_cast<size_t>(record)]];
    error = std::max(error, side_.judged[static_cast<size_t>(record)].error);
  };
  std::vector<int> stack;
  const auto push_inputs = [&](int record) {
    for (const int input : side_.flow->inputs(record)) {
      if (seen_[static_cast<size_t>(input)] == walks_) continue;
      seen_[static_cast<size_t>(input)] = walks_;
      stack.push_back(input);
    }
  };
  for (const int record : records) seen_[static_cast<size_t>(record)] = walks_;
  for (const int record : records) push_inputs(record);
  while (!stack.empty()) {
    const int record = stack.back();
    stack.pop_back();
    switch (mark(record, rule)) {
      case Mark::kBad:
        boundary.bad.push_back(record);
        break;
      case Mark::kUndecided:
        boundary.undecided.push_back(record);
        judge(record);
        if (through_undecided) push_inputs(record);
        break;
      case Mark::kWithin:
        ++boundary.within;
        judge(record);
        break;
      case Mark::kPass:
        if (is_carried_state(side_.record(record))) {
          boundary.carried.push_back(record);
        } else if (trace::is_floating(side_.record(record).storage)) {
          boundary.passed.push_back(record);
        }
        push_inputs(record);
        break;
    }
  }
  for (const auto& [logical, error] : errors) boundary.squared_error_in += error * error;
  return boundary;
}

}  // namespace nanhunt::compare
