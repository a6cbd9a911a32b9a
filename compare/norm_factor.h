// SPDX-License-Identifier: Apache-2.0
// What two healthy ways to sum up the squares of a step's gradients leave: the norms differ by
// their roundings, and so do the clip factors and, by that one factor, all gradients behind them.
// The envelope does not know it: its noise is of single ops, and a norm adds up millions of squares
// in one.
#pragma once

#include <array>

#include "compare/side_step.h"
#include "oracle/envelope.h"
#include "oracle/thresholds.h"

namespace nanhunt::compare {

struct NormFactor {
  double rounding = 0;  // relative, of the norms of both sides together
  double unscaled = 1;  // candidate / reference of the gradients that no clip was seen for
  double clipped = 1;   // of those behind it
};

// rounding = lambda sqrt(n) u, half of it a side (docs/rules.md, norm_recomputed), n the elements
// of the largest gradient: norms of single tensors are few. A factor is the median over the
// gradients of a phase, where it is within that, else 1: one gradient alone has no excuse.
NormFactor norm_factor(const SideStep& candidate, const SideStep& reference,
                       const oracle::Thresholds& thresholds);

// The deviation with what that explains taken off. `pair`: candidate and reference.
oracle::Deviation without_norm_factor(const oracle::Deviation& deviation, const NormFactor& factor,
                                      const oracle::Logical& candidate,
                                      const oracle::Logical& reference);

}  // namespace nanhunt::compare
