// SPDX-License-Identifier: Apache-2.0
#include "hooks/cut_policy.h"

namespace nanhunt::hooks {

std::optional<trace::CutReason> cut_due(const Growth& growth, Clock::time_point now,
                                        int64_t byte_limit, bool pressed) {
  if (growth.rows == 0) return std::nullopt;
  if (growth.non_finite) return trace::CutReason::kNonFinite;
  if (growth.rows >= kCutRows || growth.bytes >= byte_limit || pressed)
    return trace::CutReason::kRows;
  if (now - growth.oldest >= kCutAge) return trace::CutReason::kAge;
  return std::nullopt;
}

}  // namespace nanhunt::hooks
