// SPDX-License-Identifier: Apache-2.0
#include "cases/mini/rounding.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "trace/check.h"

namespace nanhunt::mini {
namespace {

struct Format {
  int mantissa_bits;
  int min_exponent;  // of the smallest normal value
  float max;         // largest finite value
  float beyond;      // what a larger magnitude becomes
};

constexpr float kInf = std::numeric_limits<float>::infinity();
// BF16 has FP32's exponents: its subnormals are FP32's with the low half zero, which dropping bits
// gives by itself, so no value counts as below min_exponent.
constexpr Format kBf16 = {7, -200, 0x1.FEp127f, kInf};
constexpr Format kFp16 = {10, -14, 65504.0f, kInf};
constexpr Format kE4M3 = {3, -6, 448.0f, 448.0f};
constexpr Format kE5M2 = {2, -14, 57344.0f, 57344.0f};

template <Format kFormat>
float round_one(float value) {
  constexpr int kDropped = 23 - kFormat.mantissa_bits;
  constexpr bool kOwnSubnormals = kFormat.min_exponent >= -126;
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits & 0x80000000u;
  uint32_t magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) return std::bit_cast<float>(0x7FC00000u);
  if (kOwnSubnormals && magnitude < (static_cast<uint32_t>(kFormat.min_exponent + 127) << 23)) {
    // The unit in the last place of `shift` is the type's smallest value: the sum rounds to it.
    constexpr int kShiftExponent = kFormat.min_exponent - kFormat.mantissa_bits + 23;
    constexpr float kShift = std::bit_cast<float>(
        static_cast<uint32_t>(kOwnSubnormals ? kShiftExponent + 127 : 127) << 23);
    const float sum = std::bit_cast<float>(magnitude) + kShift;
    magnitude = std::bit_cast<uint32_t>(sum - kShift);
  } else if (magnitude < 0x7F800000u) {
    const uint32_t odd = (magnitude >> kDropped) & 1u;
    magnitude += (1u << (kDropped - 1)) - 1u + odd;
    magnitude &= ~((1u << kDropped) - 1u);
  }
  const float rounded = std::bit_cast<float>(magnitude);
  const float kept = rounded > kFormat.max ? kFormat.beyond : rounded;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(kept) | sign);
}

template <Format kFormat>
void round_all(std::span<float> values) {
  for (float& value : values) value = round_one<kFormat>(value);
}

}  // namespace

void round_to(std::span<float> values, trace::DType dtype) {
  switch (dtype) {
    case trace::DType::kFloat32:
      return;
    case trace::DType::kBFloat16:
      return round_all<kBf16>(values);
    case trace::DType::kFloat16:
      return round_all<kFp16>(values);
    case trace::DType::kFloat8E4M3:
      return round_all<kE4M3>(values);
    case trace::DType::kFloat8E5M2:
      return round_all<kE5M2>(values);
    default:
      NANHUNT_CHECK(!"a type that the subject can round to");
  }
}

float rounded_to(float value, trace::DType dtype) {
  round_to({&value, 1}, dtype);
  return value;
}

}  // namespace nanhunt::mini
