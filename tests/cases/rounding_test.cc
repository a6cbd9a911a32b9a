// SPDX-License-Identifier: Apache-2.0
#include "cases/mini/rounding.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "trace/float_codes.h"

namespace nanhunt::mini {
namespace {

using trace::DType;

float decode(DType dtype, uint32_t code) {
  switch (dtype) {
    case DType::kBFloat16:
      return trace::float_from_bf16(static_cast<uint16_t>(code));
    case DType::kFloat16:
      return trace::float_from_fp16(static_cast<uint16_t>(code));
    case DType::kFloat8E4M3:
      return trace::float_from_e4m3(static_cast<uint8_t>(code));
    default:
      return trace::float_from_e5m2(static_cast<uint8_t>(code));
  }
}

// The non-negative finite values of a type with their codes: the oracle searches them.
std::map<double, uint32_t> values_of(DType dtype) {
  const uint32_t codes = trace::size_of(dtype) == 1 ? 0x80 : 0x8000;
  std::map<double, uint32_t> values;
  for (uint32_t code = 0; code < codes; ++code) {
    const float value = decode(dtype, code);
    if (std::isfinite(value)) values[value] = code;
  }
  return values;
}

// Nearest value in FP64, of two equally near the one with the even code.
double nearest(const std::map<double, uint32_t>& values, double magnitude) {
  const auto above = values.lower_bound(magnitude);
  if (above == values.end()) return values.rbegin()->first;
  if (above == values.begin() || above->first == magnitude) return above->first;
  const auto below = std::prev(above);
  const double up = above->first - magnitude, down = magnitude - below->first;
  if (up != down) return up < down ? above->first : below->first;
  return above->second % 2 == 0 ? above->first : below->first;
}

class Rounding : public testing::TestWithParam<DType> {};

TEST_P(Rounding, TakesTheNearestValueWithTiesToEven) {
  const auto values = values_of(GetParam());
  for (auto value = values.begin(); std::next(value) != values.end(); ++value) {
    const double low = value->first, high = std::next(value)->first;
    const auto middle = static_cast<float>(low + (high - low) / 2);
    for (const float x : {static_cast<float>(low), middle, std::nextafter(middle, 0.0f),
                          std::nextafter(middle, static_cast<float>(high))}) {
      ASSERT_EQ(rounded_to(x, GetParam()), nearest(values, x)) << x;
      ASSERT_EQ(rounded_to(-x, GetParam()), -nearest(values, x)) << x;
    }
  }
}

TEST_P(Rounding, KeepsNanAndTheSignOfZero) {
  const float nan = std::bit_cast<float>(0xFFC00001u);
  EXPECT_EQ(std::bit_cast<uint32_t>(rounded_to(nan, GetParam())), 0x7FC00000u);
  EXPECT_TRUE(std::signbit(rounded_to(-0.0f, GetParam())));
  EXPECT_FALSE(std::signbit(rounded_to(0.0f, GetParam())));
  EXPECT_TRUE(std::signbit(rounded_to(-1e-45f, GetParam())));
}

INSTANTIATE_TEST_SUITE_P(Types, Rounding,
                         testing::Values(DType::kBFloat16, DType::kFloat16, DType::kFloat8E4M3,
                                         DType::kFloat8E5M2),
                         [](const auto& chosen) { return std::string(name_of(chosen.param)); });

TEST(RoundingRange, HalfOverflowsToInfFromTheMiddleOn) {
  EXPECT_EQ(rounded_to(65519.996f, DType::kFloat16), 65504.0f);
  EXPECT_EQ(rounded_to(65520.0f, DType::kFloat16), std::numeric_limits<float>::infinity());
  EXPECT_EQ(rounded_to(-1e30f, DType::kFloat16), -std::numeric_limits<float>::infinity());
  EXPECT_EQ(rounded_to(0x1.FFp127f, DType::kBFloat16), std::numeric_limits<float>::infinity());
}

TEST(RoundingRange, EightBitTypesSaturate) {
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(rounded_to(1e9f, DType::kFloat8E4M3), 448.0f);
  EXPECT_EQ(rounded_to(-inf, DType::kFloat8E4M3), -448.0f);
  EXPECT_EQ(rounded_to(inf, DType::kFloat8E5M2), 57344.0f);
  EXPECT_NE(rounded_to(1e9f, DType::kFloat16), 65504.0f);  // FP16 does not
}

TEST(RoundingRange, SingleIsLeftAlone) {
  const float nan = std::bit_cast<float>(0x7FC00123u);
  EXPECT_EQ(std::bit_cast<uint32_t>(rounded_to(nan, DType::kFloat32)), 0x7FC00123u);
  EXPECT_EQ(rounded_to(0.1f, DType::kFloat32), 0.1f);
  EXPECT_NE(rounded_to(0.1f, DType::kBFloat16), 0.1f);
}

}  // namespace
}  // namespace nanhunt::mini
