// SPDX-License-Identifier: Apache-2.0
// Inside of fingerprint.h: per-lane constants that the vector kernels load instead of computing.
#pragma once

#include <array>
#include <cstdint>

#include "trace/fingerprint_kernel.h"

namespace nanhunt::trace {

struct LaneConstants {
  alignas(64) std::array<uint64_t, kBlock> high{};        // kLaneTable >> 32: the multiplier's part
  alignas(64) std::array<uint64_t, kBlock> sign_shift{};  // brings the lane's sign to bit 63
  alignas(64) std::array<uint32_t, kBlock> low_word{};    // the halves of kLaneTable, packed
  alignas(64) std::array<uint32_t, kBlock> high_word{};
};

constexpr LaneConstants make_lane_constants() {
  LaneConstants constants;
  for (int lane = 0; lane < kBlock; ++lane) {
    constants.high[lane] = kLaneTable[lane] >> 32;
    constants.sign_shift[lane] = static_cast<uint64_t>(63 - lane);
    constants.low_word[lane] = static_cast<uint32_t>(kLaneTable[lane]);
    constants.high_word[lane] = static_cast<uint32_t>(kLaneTable[lane] >> 32);
  }
  return constants;
}
inline constexpr LaneConstants kLanes = make_lane_constants();

// How far ahead of the block in work memory is fetched; found by measurement, two to eight blocks.
// The address may lie beyond the tensor: a prefetch does not fault.
inline constexpr uintptr_t kPrefetchBytes = 2048;

// The part of a run that lies in one block: bit l is set when lane l is in the run.
constexpr uint64_t valid_lanes(int begin, int end) {
  const uint64_t below_end = end == kBlock ? ~uint64_t{0} : (uint64_t{1} << end) - 1;
  return below_end & (~uint64_t{0} << begin);
}

}  // namespace nanhunt::trace
