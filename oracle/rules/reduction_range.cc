// SPDX-License-Identifier: Apache-2.0
#include "oracle/rules/reduction_range.h"

#include <algorithm>

namespace nanhunt::oracle {
namespace {

double joined(trace::ReduceOp op, double so_far, double size) {
  switch (op) {
    case trace::ReduceOp::kSum:
      return so_far + size;
    case trace::ReduceOp::kProduct:
      return std::max(1.0, so_far) * std::max(1.0, size);
    case trace::ReduceOp::kMax:
    case trace::ReduceOp::kMin:
      break;
  }
  return std::max(so_far, size);
}

}  // namespace

ReductionRange range_of_reduction(const trace::Step& step, const Meeting& meeting,
                                  size_t position) {
  const auto& first = step.collectives[static_cast<size_t>(meeting.entries.front())];
  ReductionRange range;
  for (const int index : meeting.entries) {
    const auto& entry = step.collectives[static_cast<size_t>(index)];
    const trace::Record* given = operand(step, entry, position);
    if (given != nullptr)
      range.largest = joined(first.reduce, range.largest, given->statistics.absmax());
  }
  if (first.prescaled) range.largest /= first.divisor;
  if (first.reduce == trace::ReduceOp::kSum || first.reduce == trace::ReduceOp::kProduct) {
    const auto members = static_cast<double>(meeting.entries.size());
    range.largest *= 1 + gamma(members - 1, trace::unit_roundoff(first.accumulate));
  }
  const trace::Record* out = result(step, first, position);
  range.type = first.accumulate;
  if (out != nullptr && trace::max_finite(out->storage) < trace::max_finite(range.type))
    range.type = out->storage;
  range.end = trace::max_finite(range.type);
  return range;
}

}  // namespace nanhunt::oracle
