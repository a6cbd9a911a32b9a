// SPDX-License-Identifier: Apache-2.0
#include "compare/loss_value.h"

#include <cmath>
#include <limits>

namespace nanhunt::compare {

// The sum of the pieces is that of the partial sums; a sum is the value of a single element.
std::optional<double> loss_value(const oracle::Logical& logical) {
  if (!logical.complete || logical.count != 1) return std::nullopt;
  const trace::Statistics& statistics = logical.statistics;
  constexpr double kInf = std::numeric_limits<double>::infinity();
  if (statistics.nan > 0 || (statistics.pos_inf > 0 && statistics.neg_inf > 0)) return std::nan("");
  if (statistics.pos_inf > 0) return kInf;
  if (statistics.neg_inf > 0) return -kInf;
  return statistics.sum / logical.divisor;
}

}  // namespace nanhunt::compare
