// SPDX-License-Identifier: Apache-2.0
// How large the results of a reduction over ranks can become, from the sizes of its operands: tells
// an overflow inside the reduction from a value that was spoilt on its way out.
//
// Of n operands with largest sizes a_r (statistics, all elements), each partial sum of a sum, in
// any order, has at most the size (1 + u)^(n - 1) sum_r a_r <= (1 + gamma_(n-1)(u)) sum_r a_r, u
// the roundoff that it accumulates in (Higham, Accuracy and Stability of Numerical Algorithms,
// section 4.2), a product (1 + gamma_(n-1)(u)) prod_r max(1, a_r). A maximum or minimum is an
// operand.
#pragma once

#include "oracle/rules/rule_tools.h"

namespace nanhunt::oracle {

struct ReductionRange {
  double largest = 0;  // size that nothing on the way can exceed
  double end = 0;      // of the narrower of the types that it accumulates in and is recorded in
  trace::DType type = trace::DType::kFloat32;  // that one

  bool can_overflow() const { return largest > end; }
};

// Of the operands number `position`; these are captured, finite, and the meeting is whole.
ReductionRange range_of_reduction(const trace::Step& step, const Meeting& meeting, size_t position);

}  // namespace nanhunt::oracle
