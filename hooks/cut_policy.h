// SPDX-License-Identifier: Apache-2.0
// When a segment that grows is cut: pure, so that it can be tested without a clock.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>

#include "hooks/queue_item.h"

namespace nanhunt::hooks {

inline constexpr size_t kCutRows = 512;
// The promise is 200 ms from acceptance to the final name; the rest is for writing the file.
inline constexpr std::chrono::milliseconds kCutAge{150};

// What is not yet sealed of one rank.
struct Growth {
  size_t rows = 0;
  int64_t bytes = 0;
  Clock::time_point oldest{};  // when the first of the rows was accepted
  bool non_finite = false;     // holds the first non-finite value of its rank and step
};

// nullopt: let it grow. `byte_limit`: bytes after which one rank's segment is cut; `pressed`: a
// training thread waits for room. Both count as kRows.
std::optional<trace::CutReason> cut_due(const Growth& growth, Clock::time_point now,
                                        int64_t byte_limit, bool pressed);

}  // namespace nanhunt::hooks
