// SPDX-License-Identifier: Apache-2.0
// Tensors whose exact value is 0, or what rounding leaves where all terms cancel (the gradient of a
// key's bias): relative to themselves any deviation is large, so they are judged relative to the
// terms that they are sums of. Derivation: docs/rules.md, "Where the terms cancel".
#pragma once

#include <optional>

#include "compare/deviations.h"

namespace nanhunt::compare {

// Of one logical tensor on one side, where its ops were computed again in FP64 (level full).
struct OperandScale {
  double terms = 0;     // norm of the sums of |terms|
  double rounding = 0;  // what rounding inside the op may leave of it: lambda sqrt(K) u_in terms
  // What roundings of the operands may leave beside, where the exact value is 0.
  double resolution = 0;
};

// nullopt: a piece was not computed again. The gradient behind a collective has the terms of its
// backward pass.
std::optional<OperandScale> operand_scale(const SideStep& side, const oracle::Logical& logical,
                                          double lambda);

// Whether that reference is not told from 0: no larger than its resolution, where that is well
// below what terms of independent signs leave.
bool is_cancelled(double reference_norm, const OperandScale& scale);

// Sets the standing of a pair whose reference is 0 or cancelled: by the envelope of ||d|| and what
// rounding inside the op explains on both sides. Unjudged, with the reason, where neither is known.
// False: the pair is none of that kind, and untouched.
bool judge_by_operands(Comparison& pair, const SideStep& candidate, const SideStep& reference,
                       const Judge& judge);

}  // namespace nanhunt::compare
