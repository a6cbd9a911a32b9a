// SPDX-License-Identifier: Apache-2.0
// Bytes of a random tensor that holds every class of value: normal, subnormal, both zeros, NaNs
// with payload, infinities; for the tests of one folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "trace/dtype.h"

namespace nanhunt::trace {

inline constexpr DType kAllTypes[] = {DType::kFloat64,  DType::kFloat32,    DType::kFloat16,
                                      DType::kBFloat16, DType::kFloat8E4M3, DType::kFloat8E5M2,
                                      DType::kInt64,    DType::kInt32,      DType::kInt16,
                                      DType::kInt8,     DType::kUInt8,      DType::kBool};

enum class Values { kEveryClass, kFinite };

inline bool all_exponent_bits(const std::byte* element, DType dtype) {
  if (!is_floating(dtype)) return false;
  const double value = element_as_double(element, dtype, 0);
  return !(value - value == 0);
}

inline std::vector<std::byte> random_bytes(DType dtype, size_t count, uint64_t seed,
                                           Values values = Values::kEveryClass) {
  std::mt19937_64 random(seed);
  const size_t size = size_of(dtype);
  std::vector<std::byte> bytes(count * size);
  for (size_t i = 0; i < count; ++i) {
    std::byte* element = &bytes[i * size];
    do {
      uint64_t code = random();
      // One element in 16 of a floating type is a zero, a subnormal, an infinity or a NaN.
      const uint64_t pick = random() % 64;
      const uint64_t top = size == 8                     ? 0x7FF
                           : size == 4                   ? 0xFF
                           : dtype == DType::kBFloat16   ? 0xFF
                           : dtype == DType::kFloat8E4M3 ? 0xF
                                                         : 0x1F;
      const int mantissa = size == 8                     ? 52
                           : size == 4                   ? 23
                           : dtype == DType::kBFloat16   ? 7
                           : dtype == DType::kFloat16    ? 10
                           : dtype == DType::kFloat8E4M3 ? 3
                                                         : 2;
      if (is_floating(dtype) && pick < 4) {
        if (pick == 0) code &= ~(top << mantissa);                                 // subnormal
        if (pick == 1) code |= top << mantissa;                                    // NaN
        if (pick == 2) code = (code & 1) << (8 * size - 1);                        // zero
        if (pick == 3) code = ((code & 1) << (8 * size - 1)) | (top << mantissa);  // infinity
      }
      if (dtype == DType::kBool) code &= 1;
      std::memcpy(element, &code, size);
    } while (values == Values::kFinite && all_exponent_bits(element, dtype));
  }
  return bytes;
}

}  // namespace nanhunt::trace
