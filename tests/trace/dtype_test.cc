// SPDX-License-Identifier: Apache-2.0
#include "trace/dtype.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "tests/trace/random_tensor.h"
#include "trace/float_codes.h"

namespace nanhunt::trace {
namespace {

struct Format {
  DType dtype;
  int exponent_bits, mantissa_bits;
  bool has_infinity;  // else all exponent bits with all mantissa bits is the only NaN
};

constexpr Format kFormats[] = {{DType::kFloat16, 5, 10, true},
                               {DType::kBFloat16, 8, 7, true},
                               {DType::kFloat8E4M3, 4, 3, false},
                               {DType::kFloat8E5M2, 5, 2, true}};

// The definition: (-1)^s 2^(e-bias) (1 + m/2^M), or 2^(1-bias) m/2^M when e = 0.
double decode_by_formula(const Format& format, uint32_t code) {
  const int bias = (1 << (format.exponent_bits - 1)) - 1;
  const uint32_t mantissa = code & ((1u << format.mantissa_bits) - 1);
  const uint32_t exponent = (code >> format.mantissa_bits) & ((1u << format.exponent_bits) - 1);
  const double sign = code >> (format.mantissa_bits + format.exponent_bits) != 0 ? -1 : 1;
  const double fraction = std::ldexp(mantissa, -format.mantissa_bits);
  if (exponent == (1u << format.exponent_bits) - 1) {
    if (format.has_infinity) {
      return mantissa == 0 ? sign * std::numeric_limits<double>::infinity() : std::nan("");
    }
    if (mantissa == (1u << format.mantissa_bits) - 1) return std::nan("");
  }
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias);
  return sign * std::ldexp(1 + fraction, static_cast<int>(exponent) - bias);
}

bool same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

TEST(DType, EveryNarrowCodeDecodesByItsFormula) {
  for (const Format& format : kFormats) {
    const uint32_t codes = 1u << (8 * size_of(format.dtype));
    double largest = 0, smallest = 1;
    for (uint32_t code = 0; code < codes; ++code) {
      const double value = element_as_double(&code, format.dtype, 0);
      ASSERT_TRUE(same(value, decode_by_formula(format, code)))
          << name_of(format.dtype) << " code " << code << " gives " << value;
      float widened;
      widen_to_float(&code, format.dtype, 1, &widened);
      ASSERT_TRUE(same(widened, value)) << name_of(format.dtype) << " code " << code;
      if (std::isfinite(value)) largest = std::max(largest, value);
      if (value > 0) smallest = std::min(smallest, value);
    }
    EXPECT_EQ(largest, max_finite(format.dtype)) << name_of(format.dtype);
    EXPECT_EQ(smallest, min_subnormal(format.dtype)) << name_of(format.dtype);
    EXPECT_EQ(unit_roundoff(format.dtype), std::ldexp(1, -format.mantissa_bits - 1));
  }
}

// The twin: decoding E5M2 codes as E4M3 breaks the formula at once.
TEST(DType, AnotherFormatsFormulaDoesNotFit) {
  int different = 0;
  for (uint32_t code = 0; code < 256; ++code) {
    different += !same(float_from_e4m3(static_cast<uint8_t>(code)),
                       decode_by_formula(kFormats[3], code));
  }
  EXPECT_GT(different, 200);
}

TEST(DType, E4M3HasTwoNansAndNoInfinity) {
  int nans = 0;
  for (uint32_t code = 0; code < 256; ++code) {
    const float value = float_from_e4m3(static_cast<uint8_t>(code));
    EXPECT_FALSE(std::isinf(value));
    nans += std::isnan(value);
  }
  EXPECT_EQ(nans, 2);
  EXPECT_TRUE(std::isnan(float_from_e4m3(0x7F)));
  EXPECT_TRUE(std::isnan(float_from_e4m3(0xFF)));
  EXPECT_EQ(float_from_e4m3(0x7E), 448.0F);
  EXPECT_EQ(float_from_e5m2(0x7B), 57344.0F);
  EXPECT_TRUE(std::isinf(float_from_e5m2(0x7C)));
}

TEST(DType, NamesGoBothWays) {
  for (DType dtype : kAllTypes) EXPECT_EQ(dtype_from_name(name_of(dtype)), dtype);
  EXPECT_EQ(dtype_from_name("fp8_e4m3"), DType::kFloat8E4M3);
  EXPECT_EQ(dtype_from_name("float32"), std::nullopt);
}

TEST(DType, LimitsAreThoseOfTheType) {
  EXPECT_EQ(max_finite(DType::kFloat64), std::numeric_limits<double>::max());
  EXPECT_EQ(max_finite(DType::kFloat32), std::numeric_limits<float>::max());
  EXPECT_EQ(min_subnormal(DType::kFloat32), std::numeric_limits<float>::denorm_min());
  EXPECT_EQ(unit_roundoff(DType::kFloat32), std::numeric_limits<float>::epsilon() / 2);
  EXPECT_EQ(unit_roundoff(DType::kInt64), 0);
  EXPECT_FALSE(is_floating(DType::kUInt8));
  EXPECT_TRUE(is_floating(DType::kFloat8E5M2));
}

TEST(DType, IntegersWidenWithTheirSign) {
  const int8_t small = -128;
  const int64_t large = (int64_t{1} << 53) + 1;
  const uint8_t byte = 255;
  EXPECT_EQ(element_as_double(&small, DType::kInt8, 0), -128);
  EXPECT_EQ(element_as_double(&byte, DType::kUInt8, 0), 255);
  EXPECT_EQ(element_as_double(&byte, DType::kBool, 0), 1);
  EXPECT_EQ(element_as_double(&large, DType::kInt64, 0), 0x1p53);  // nearest even
}

}  // namespace
}  // namespace nanhunt::trace
