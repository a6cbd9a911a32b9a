// SPDX-License-Identifier: Apache-2.0
#include "trace/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace nanhunt::trace {

double Statistics::absmax() const {
  return finite() == 0 ? 0 : std::max(std::abs(min), std::abs(max));
}

double Statistics::mean() const {
  return finite() == 0 ? 0 : sum / static_cast<double>(finite());
}

double Statistics::rms() const {
  return finite() == 0 ? 0 : std::sqrt(sum_squares / static_cast<double>(finite()));
}

Statistics merge(const Statistics& a, const Statistics& b) {
  Statistics result = a;
  result.count += b.count;
  result.nan += b.nan;
  result.pos_inf += b.pos_inf;
  result.neg_inf += b.neg_inf;
  result.zero += b.zero;
  result.subnormal += b.subnormal;
  result.saturated += b.saturated;
  result.padding += b.padding;
  result.sum += b.sum;
  result.sum_squares += b.sum_squares;
  // A side without finite values has no minimum, whatever its fields hold (a fresh Statistics: 0).
  result.min = std::numeric_limits<double>::infinity();
  result.max = -std::numeric_limits<double>::infinity();
  for (const Statistics* side : {&a, &b}) {
    if (side->finite() == 0) continue;
    result.min = std::min(result.min, side->min);
    result.max = std::max(result.max, side->max);
  }
  return result;
}

}  // namespace nanhunt::trace
