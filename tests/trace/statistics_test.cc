// SPDX-License-Identifier: Apache-2.0
#include "trace/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tests/trace/random_tensor.h"
#include "trace/fingerprint.h"

namespace nanhunt::trace {
namespace {

template <class T>
Statistics statistics_of(const std::vector<T>& values, DType dtype) {
  return fingerprint(contiguous_view(values.data(), dtype, {static_cast<int64_t>(values.size())}),
                     whole({"channel"}, {static_cast<int64_t>(values.size())}))
      .statistics;
}

constexpr float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::nanf("0x123");

TEST(Statistics, EachClassIsCounted) {
  const Statistics s = statistics_of<float>(
      {1.0F, -3.0F, 0.0F, -0.0F, kNan, -kNan, kInf, -kInf, -kInf, 0x1p-149F, -0x1p-127F, 0x1p-126F},
      DType::kFloat32);
  EXPECT_EQ(s.count, 12u);
  EXPECT_EQ(s.nan, 2u);
  EXPECT_EQ(s.pos_inf, 1u);
  EXPECT_EQ(s.neg_inf, 2u);
  EXPECT_EQ(s.zero, 2u);
  EXPECT_EQ(s.subnormal, 2u);
  EXPECT_EQ(s.finite(), 7u);
  EXPECT_EQ(s.min, -3);
  EXPECT_EQ(s.max, 1);
  EXPECT_EQ(s.absmax(), 3);
  EXPECT_EQ(s.sum_squares, 10);  // the small squares vanish beside it
  EXPECT_NEAR(s.rms(), std::sqrt(10.0 / 7), 1e-15);
  EXPECT_EQ(s.saturated, 0u);
}

TEST(Statistics, NothingFiniteHasNoMinimum) {
  const Statistics s = statistics_of<float>({kNan, kInf}, DType::kFloat32);
  EXPECT_EQ(s.min, std::numeric_limits<double>::infinity());
  EXPECT_EQ(s.max, -std::numeric_limits<double>::infinity());
  EXPECT_EQ(s.absmax(), 0);
  EXPECT_EQ(s.mean(), 0);
}

TEST(Statistics, SubnormalAndSaturatedAreThoseOfTheStoredType) {
  // 2^-24 and 2^-15 are subnormal in FP16 but not in FP32.
  const Statistics half =
      statistics_of<uint16_t>({0x0001, 0x8200, 0x0400, 0x7BFF}, DType::kFloat16);
  EXPECT_EQ(half.subnormal, 2u);
  EXPECT_EQ(half.saturated, 0u);
  EXPECT_EQ(half.max, 65504);
  const Statistics e4m3 =
      statistics_of<uint8_t>({0x7E, 0xFE, 0x7D, 0x7F, 0x07, 0x08}, DType::kFloat8E4M3);
  EXPECT_EQ(e4m3.saturated, 2u);
  EXPECT_EQ(e4m3.nan, 1u);
  EXPECT_EQ(e4m3.subnormal, 1u);
  EXPECT_EQ(e4m3.max, 448);
  const Statistics e5m2 =
      statistics_of<uint8_t>({0x7B, 0xFB, 0x7C, 0xFC, 0x7E, 0x03, 0x04}, DType::kFloat8E5M2);
  EXPECT_EQ(e5m2.saturated, 2u);
  EXPECT_EQ(e5m2.pos_inf, 1u);
  EXPECT_EQ(e5m2.neg_inf, 1u);
  EXPECT_EQ(e5m2.nan, 1u);
  EXPECT_EQ(e5m2.subnormal, 1u);
}

TEST(Statistics, IntegersAndBools) {
  const Statistics ints = statistics_of<int64_t>({-5, 0, 7, 7}, DType::kInt64);
  EXPECT_EQ(ints.min, -5);
  EXPECT_EQ(ints.max, 7);
  EXPECT_EQ(ints.sum, 9);
  EXPECT_EQ(ints.zero, 1u);
  EXPECT_EQ(ints.non_finite(), 0u);
  const Statistics bools = statistics_of<uint8_t>({1, 0, 0, 2}, DType::kBool);
  EXPECT_EQ(bools.sum, 2);
  EXPECT_EQ(bools.zero, 2u);
}

TEST(Statistics, MergeIsThatOfTheUnion) {
  for (DType dtype : kAllTypes) {
    const std::vector<std::byte> bytes = random_bytes(dtype, 500, 3);
    const auto part = [&](int64_t begin, int64_t end) {
      return fingerprint(
                 contiguous_view(bytes.data() + begin * static_cast<int64_t>(size_of(dtype)), dtype,
                                 {end - begin}),
                 whole({}, {end - begin}))
          .statistics;
    };
    const Statistics all = part(0, 500);
    const Statistics merged = merge(part(0, 123), part(123, 500));
    EXPECT_EQ(merged.count, all.count);
    EXPECT_EQ(merged.nan, all.nan);
    EXPECT_EQ(merged.zero, all.zero);
    EXPECT_EQ(merged.subnormal, all.subnormal);
    EXPECT_EQ(merged.min, all.min);
    EXPECT_EQ(merged.max, all.max);
    EXPECT_NE(merge(part(0, 122), part(123, 500)).count, all.count);
  }
}

TEST(Statistics, AFreshOneIsNeutral) {
  const Statistics s = statistics_of<float>({2, 5}, DType::kFloat32);
  const Statistics merged = merge(Statistics(), s);
  EXPECT_EQ(merged.min, 2);  // not the 0 of the fresh one
  EXPECT_EQ(merged.max, 5);
  EXPECT_EQ(merge(s, Statistics()).min, 2);
}

}  // namespace
}  // namespace nanhunt::trace
