// SPDX-License-Identifier: Apache-2.0
// The version that defines the fingerprints: plain C++, every type. The vector versions must give
// the same counts, min, max and digests.
#include <algorithm>
#include <bit>
#include <cstring>

#include "trace/check.h"
#include "trace/fingerprint_kernel.h"
#include "trace/float_codes.h"

namespace nanhunt::trace {
namespace {

template <class T>
T load(const void* run, uint64_t index) {
  T value;
  std::memcpy(&value, static_cast<const char*>(run) + index * sizeof(T), sizeof(T));
  return value;
}

// Calls body(i, logical index, lane key, sign, bucket) for each element of the run.
template <class Body>
void for_each_element(uint64_t first, uint64_t count, Body body) {
  for (uint64_t done = 0; done < count;) {
    const uint64_t block = (first + done) / kBlock;
    const int begin = static_cast<int>((first + done) % kBlock);
    const int end = static_cast<int>(std::min<uint64_t>(kBlock, begin + (count - done)));
    const BlockHash hash = hash_block(block);
    for (int lane = begin; lane < end; ++lane) {
      const double sign = (hash.signs >> lane & 1) != 0 ? -1.0 : 1.0;
      body(done + static_cast<uint64_t>(lane - begin), block * kBlock + static_cast<uint64_t>(lane),
           hash.key ^ kLaneTable[lane], sign, (lane + hash.rotation) % kSketchBuckets);
    }
    done += static_cast<uint64_t>(end - begin);
  }
}

void add_finite(double value, double sign, int bucket, Accumulator& sums) {
  sums.sketch[0][bucket] += sign * value;
  sums.sum[0] += value;
  sums.sum_squares[0] += value * value;
}

// Floating types of up to 32 bits. Classes are read from the bits: flush-to-zero changes nothing.
template <class Code, auto decode, DType dtype>
void run_narrow(const void* run, uint64_t first, uint64_t count, Accumulator& sums) {
  const NarrowFormat format = narrow_format(dtype);
  sums.count += count;
  for_each_element(first, count,
                   [&](uint64_t i, uint64_t index, uint64_t key, double sign, int bucket) {
                     uint32_t bits = std::bit_cast<uint32_t>(decode(load<Code>(run, i)));
                     const uint32_t magnitude = bits & 0x7FFFFFFFu;
                     if (magnitude == 0) bits = 0;
                     if (magnitude > 0x7F800000u) bits = kCanonicalNan;
                     sums.digest[0] += digest_word(bits, key);
                     const float value = std::bit_cast<float>(bits);
                     if (magnitude >= 0x7F800000u) {
                       sums.add_non_finite(index, value);
                       return;
                     }
                     sums.zero += magnitude == 0;
                     sums.subnormal += magnitude - 1 < format.min_normal - 1;
                     sums.saturated += magnitude == format.max_finite && magnitude != 0;
                     sums.min[0] = std::min(sums.min[0], value);
                     sums.max[0] = std::max(sums.max[0], value);
                     add_finite(value, sign, bucket, sums);
                   });
}

void run_float64(const void* run, uint64_t first, uint64_t count, Accumulator& sums) {
  constexpr uint64_t kInfinity = 0x7FF0000000000000u;
  constexpr uint64_t kMinNormal = 0x0010000000000000u;
  sums.count += count;
  for_each_element(first, count,
                   [&](uint64_t i, uint64_t index, uint64_t key, double sign, int bucket) {
                     uint64_t bits = load<uint64_t>(run, i);
                     const uint64_t magnitude = bits & 0x7FFFFFFFFFFFFFFFu;
                     if (magnitude == 0) bits = 0;
                     if (magnitude > kInfinity) bits = kCanonicalWideNan;
                     sums.digest[0] += digest_wide(bits, key, kFloat64Tag);
                     const double value = std::bit_cast<double>(bits);
                     if (magnitude >= kInfinity) {
                       sums.add_non_finite(index, value);
                       return;
                     }
                     sums.zero += magnitude == 0;
                     sums.subnormal += magnitude - 1 < kMinNormal - 1;
                     sums.wide_min[0] = std::min(sums.wide_min[0], value);
                     sums.wide_max[0] = std::max(sums.wide_max[0], value);
                     add_finite(value, sign, bucket, sums);
                   });
}

template <class T, bool kIsBool = false>
void run_integer(const void* run, uint64_t first, uint64_t count, Accumulator& sums) {
  sums.count += count;
  for_each_element(first, count, [&](uint64_t i, uint64_t, uint64_t key, double sign, int bucket) {
    const T code = load<T>(run, i);
    const int64_t integer = kIsBool ? static_cast<int64_t>(code != 0) : static_cast<int64_t>(code);
    sums.digest[0] += digest_wide(static_cast<uint64_t>(integer), key, kIntegerTag);
    const double value = static_cast<double>(integer);
    sums.zero += integer == 0;
    sums.wide_min[0] = std::min(sums.wide_min[0], value);
    sums.wide_max[0] = std::max(sums.wide_max[0], value);
    add_finite(value, sign, bucket, sums);
  });
}

constexpr float same_float(float value) { return value; }

}  // namespace

RunKernel portable_kernel(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
      return run_float64;
    case DType::kFloat32:
      return run_narrow<float, same_float, DType::kFloat32>;
    case DType::kFloat16:
      return run_narrow<uint16_t, float_from_fp16, DType::kFloat16>;
    case DType::kBFloat16:
      return run_narrow<uint16_t, float_from_bf16, DType::kBFloat16>;
    case DType::kFloat8E4M3:
      return run_narrow<uint8_t, float_from_e4m3, DType::kFloat8E4M3>;
    case DType::kFloat8E5M2:
      return run_narrow<uint8_t, float_from_e5m2, DType::kFloat8E5M2>;
    case DType::kInt64:
      return run_integer<int64_t>;
    case DType::kInt32:
      return run_integer<int32_t>;
    case DType::kInt16:
      return run_integer<int16_t>;
    case DType::kInt8:
      return run_integer<int8_t>;
    case DType::kUInt8:
      return run_integer<uint8_t>;
    case DType::kBool:
      return run_integer<uint8_t, true>;
  }
  NANHUNT_CHECK(false && "unknown dtype");
}

}  // namespace nanhunt::trace
