// SPDX-License-Identifier: Apache-2.0
// What one pass over a local tensor counts. Padding cells enter no field but `padding`.
#pragma once

#include <cstdint>

namespace nanhunt::trace {

struct Statistics {
  uint64_t count = 0;  // elements, padding not included
  uint64_t nan = 0;
  uint64_t pos_inf = 0;
  uint64_t neg_inf = 0;
  uint64_t zero = 0;  // +0 and -0
  uint64_t subnormal = 0;
  uint64_t saturated = 0;  // FP8: |code| at the format's largest finite value; else 0
  uint64_t padding = 0;
  // Over the finite values; min = +Inf and max = -Inf when there are none. Sums are FP64.
  double min = 0;
  double max = 0;
  double sum = 0;
  double sum_squares = 0;

  uint64_t non_finite() const { return nan + pos_inf + neg_inf; }
  uint64_t finite() const { return count - non_finite(); }
  double absmax() const;  // 0 when there are no finite values
  double mean() const;
  double rms() const;
};

// Statistics of the union of two disjoint tensors.
Statistics merge(const Statistics& a, const Statistics& b);

}  // namespace nanhunt::trace
