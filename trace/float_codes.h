// SPDX-License-Identifier: Apache-2.0
// Decoding of the narrow floating types to FP32, bit by bit and exact. No hardware instruction, so
// that rounding and flush-to-zero modes of the calling thread change nothing. NaN payloads of FP16
// and BF16 move to the top of the FP32 mantissa; FP8 NaNs become the quiet NaN of their sign.
// Formats: IEEE 754 binary16; bfloat16; FP8 of "FP8 Formats for Deep Learning" (arXiv:2209.05433).
#pragma once

#include <bit>
#include <cstdint>

namespace nanhunt::trace {

// A code of `exponent_bits` and `mantissa_bits` without its sign, exponent all ones not special.
constexpr uint32_t widen_magnitude(uint32_t magnitude, int exponent_bits, int mantissa_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  uint32_t mantissa = magnitude & ((1u << mantissa_bits) - 1);
  int exponent = static_cast<int>(magnitude >> mantissa_bits) - bias;
  if (magnitude == 0) return 0;
  if (exponent == -bias) {  // subnormal: FP32 has the range to hold it normalised
    const int shift = std::countl_zero(mantissa) - (31 - mantissa_bits);
    mantissa = (mantissa << shift) & ((1u << mantissa_bits) - 1);
    exponent = 1 - bias - shift;
  }
  return (static_cast<uint32_t>(exponent + 127) << 23) | (mantissa << (23 - mantissa_bits));
}

constexpr float float_from_bf16(uint16_t code) {
  return std::bit_cast<float>(static_cast<uint32_t>(code) << 16);
}

constexpr float float_from_fp16(uint16_t code) {
  const uint32_t sign = (code & 0x8000u) << 16;
  const uint32_t magnitude = code & 0x7FFFu;
  const uint32_t wide = magnitude >= 0x7C00u ? 0x7F800000u | ((magnitude & 0x3FFu) << 13)
                                             : widen_magnitude(magnitude, 5, 10);
  return std::bit_cast<float>(sign | wide);
}

constexpr float float_from_e4m3(uint8_t code) {
  const uint32_t sign = (code & 0x80u) << 24;
  const uint32_t magnitude = code & 0x7Fu;
  return std::bit_cast<float>(
      sign | (magnitude == 0x7Fu ? 0x7FC00000u : widen_magnitude(magnitude, 4, 3)));
}

constexpr float float_from_e5m2(uint8_t code) {
  const uint32_t sign = (code & 0x80u) << 24;
  const uint32_t magnitude = code & 0x7Fu;
  const uint32_t wide = magnitude > 0x7Cu    ? 0x7FC00000u
                        : magnitude == 0x7Cu ? 0x7F800000u
                                             : widen_magnitude(magnitude, 5, 2);
  return std::bit_cast<float>(sign | wide);
}

}  // namespace nanhunt::trace
