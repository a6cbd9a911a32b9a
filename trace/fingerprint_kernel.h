// SPDX-License-Identifier: Apache-2.0
// Inside of fingerprint.h: the sums that one region collects, the hashes of a logical index, and
// the kernels that add a run of elements to those sums. Definitions: docs/trace_format.md,
// Fingerprints.
//
// A run is `count` packed elements whose logical indices are first, first + 1, ... Kernels work on
// blocks of 64 logical indices, so that all hashing but one multiply is done once a block.
#pragma once

#include <array>
#include <cstdint>

#include "trace/dtype.h"
#include "trace/fingerprint.h"

namespace nanhunt::trace {

inline constexpr int kBlock = 64;
inline constexpr uint64_t kGolden = 0x9E3779B97F4A7C15u;
inline constexpr uint64_t kOddMultiplier = uint64_t{1} << 32;
inline constexpr uint32_t kCanonicalNan = 0x7FC00000u;
inline constexpr uint64_t kCanonicalWideNan = 0x7FF8000000000000u;

// Finaliser of SplitMix64 (Steele, Lea, Flood 2014, constants of Stafford's variant 13).
constexpr uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

constexpr std::array<uint64_t, kBlock> make_lane_table() {
  std::array<uint64_t, kBlock> table{};
  for (int lane = 0; lane < kBlock; ++lane) {
    // Bit 32 is left to the block hash, which sets it: the multiplier is odd in every lane.
    table[lane] =
        mix(0x6C616E6573000000u + kGolden * static_cast<uint64_t>(lane)) & ~kOddMultiplier;
  }
  return table;
}
alignas(64) inline constexpr std::array<uint64_t, kBlock> kLaneTable = make_lane_table();

// Type tags of elements that are hashed as two 32-bit halves: xored into the key, low then high.
struct WideTag {
  uint64_t low, high;
};
inline constexpr WideTag kFloat64Tag{0xA0761D6478BD642Fu, 0xE7037ED1A0B428DBu};
inline constexpr WideTag kIntegerTag{0x8EBC6AF09C88C6E3u, 0x589965CC75374CC3u};

// What all 64 indices of a block share.
struct BlockHash {
  uint64_t key;    // lane key = key ^ kLaneTable[lane]; bit 32 set
  uint64_t signs;  // bit l set: lane l enters the sketch negated
  int rotation;    // lane l goes to bucket (l + rotation) mod 64
};

constexpr BlockHash hash_block(uint64_t block) {
  const uint64_t hash = mix((block + 1) * kGolden);
  return {hash | kOddMultiplier, mix(hash + kGolden), static_cast<int>(hash >> 58)};
}

constexpr uint64_t digest_word(uint32_t bits, uint64_t key) {
  return static_cast<uint64_t>(bits ^ static_cast<uint32_t>(key)) * ((key | kOddMultiplier) >> 32);
}

constexpr uint64_t digest_wide(uint64_t bits, uint64_t key, const WideTag& tag) {
  return digest_word(static_cast<uint32_t>(bits), key ^ tag.low) +
         digest_word(static_cast<uint32_t>(bits >> 32), key ^ tag.high);
}

// One non-finite element. The low 24 bits count, so the sum is not 0 by accident.
constexpr uint64_t mask_word(uint64_t logical_index) {
  return (mix(0x6D61736B73000000u + logical_index * kGolden) << 24) | 1;
}

// What the kernels need to know of a type of up to 32 bits.
struct NarrowFormat {
  uint32_t min_normal;  // FP32 bits of the smallest normal value
  uint32_t max_finite;  // FP32 bits of the value that counts as saturated; 0: none does
};
NarrowFormat narrow_format(DType dtype);

// Running sums. Vector kernels keep one partial sum a vector lane; fold() adds them up.
struct Accumulator {
  static constexpr int kSets = 2;  // blocks alternate, so that a store is not read back at once
  // Bucket (l + rotation) unreduced; entries j and j + 64 belong together.
  alignas(64) std::array<std::array<double, 2 * kBlock>, kSets> sketch{};
  alignas(64) std::array<double, 16> sum{};
  alignas(64) std::array<double, 16> sum_squares{};
  alignas(64) std::array<uint64_t, 16> digest{};
  alignas(64) std::array<float, 16> min;
  alignas(64) std::array<float, 16> max;
  alignas(64) std::array<double, 8> wide_min;  // of FP64 and integers
  alignas(64) std::array<double, 8> wide_max;
  uint64_t mask_digest = 0;
  uint64_t count = 0, nan = 0, pos_inf = 0, neg_inf = 0, zero = 0, subnormal = 0, saturated = 0;

  Accumulator();
  // A non-finite element, value and place; called for few elements only.
  void add_non_finite(uint64_t logical_index, double value);
};

// What the sums say; `region` may be null. Lanes are added in ascending order.
Statistics fold(const Accumulator& sums, RegionPrint* region);

using RunKernel = void (*)(const void* run, uint64_t first, uint64_t count, Accumulator& sums);

// Never null.
RunKernel portable_kernel(DType dtype);
// Null where this version has none of its own for the type. Call only on a machine that has the
// instructions (fingerprint_dispatch.cc).
RunKernel avx2_kernel(DType dtype);
RunKernel avx512_kernel(DType dtype);
// The fastest that runs here.
RunKernel best_kernel(DType dtype);

}  // namespace nanhunt::trace
