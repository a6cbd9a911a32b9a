// SPDX-License-Identifier: Apache-2.0
// What rounding explains passes, whatever its order; graded faults do not.
#include "oracle/replay/error_test.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "oracle/replay/error_sums.h"
#include "tests/oracle/step_builder.h"
#include "trace/dtype.h"

namespace nanhunt::oracle::test {
namespace {

constexpr double kLambda = 8;
constexpr size_t kElements = 4096;

Rounding bf16() {
  return {
      trace::unit_roundoff(trace::DType::kFloat32), trace::unit_roundoff(trace::DType::kBFloat16),
      trace::min_subnormal(trace::DType::kBFloat16), trace::max_finite(trace::DType::kBFloat16), 0};
}

// Sums of 64 terms of size 1/8.
Recomputed sums(uint64_t seed) {
  Recomputed expected{{}, {}, 64};
  for (const float value : normal_values(kElements, seed)) {
    expected.values.push_back(static_cast<double>(value));
    expected.magnitudes.push_back(8);
  }
  return expected;
}

std::vector<double> rounded(const std::vector<double>& values) {
  std::vector<double> result;
  for (const double value : values)
    result.push_back(static_cast<double>(to_bf16(static_cast<float>(value))));
  return result;
}

ErrorTest test_bf16(const std::vector<double>& found, const Recomputed& expected) {
  return test_errors(found, expected, bf16(), kLambda);
}

TEST(ErrorTest, RoundingPasses) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Recomputed expected = sums(seed);
    const ErrorTest test = test_bf16(rounded(expected.values), expected);
    EXPECT_LE(test.proven, 1);
    EXPECT_LE(test.suspicious(), 1) << test.leading();
    EXPECT_EQ(test.compared, static_cast<int64_t>(kElements));
  }
}

TEST(ErrorTest, CommonFactorBelowOneRoundingIsFound) {
  Recomputed expected = sums(1);
  std::vector<double> found = expected.values;
  for (double& value : found) value *= 1.001;  // a quarter of a BF16 rounding
  const ErrorTest test = test_bf16(rounded(found), expected);
  EXPECT_GT(test.scale, 1);
  EXPECT_NEAR(test.factor, 1.001, 3e-4);
}

TEST(ErrorTest, TruncationIsSuspicious) {
  const Recomputed expected = sums(2);
  std::vector<double> found;
  for (const double value : expected.values) {
    const double step = std::ldexp(1.0, std::ilogb(value) - 7);
    found.push_back(std::trunc(value / step) * step);
  }
  EXPECT_GT(test_bf16(found, expected).suspicious(), 1);
}

ErrorTest tested_in_parts(const std::vector<double>& found, const Recomputed& expected,
                          size_t first_part) {
  ErrorTester tester(bf16(), expected.roundings, kLambda, static_cast<int64_t>(found.size()));
  for (size_t begin = 0, part = first_part; begin < found.size(); begin += part, part += kBlock) {
    const size_t count = std::min(part, found.size() - begin);
    tester.add(std::span(found).subspan(begin, count),
               std::span(expected.values).subspan(begin, count),
               std::span(expected.magnitudes).subspan(begin, count));
  }
  return tester.result();
}

// The same bits, also where an element is out of rule.
TEST(ErrorTest, PartsGiveWhatTheWholeGives) {
  const Recomputed expected = sums(12);
  auto found = rounded(expected.values);
  found[700] += 0.3;
  const ErrorTest whole = tested_in_parts(found, expected, found.size());
  const ErrorTest parts = tested_in_parts(found, expected, kBlock);
  EXPECT_GT(whole.proven, 1);
  EXPECT_EQ(parts.proven, whole.proven);
  EXPECT_EQ(parts.element, whole.element);
  EXPECT_EQ(parts.norm, whole.norm);
  EXPECT_EQ(parts.scale, whole.scale);
  EXPECT_EQ(parts.shift, whole.shift);
  EXPECT_EQ(parts.factor, whole.factor);
  EXPECT_EQ(parts.worst, 700);
}

// What is added up in vectors has the bits of one element after another.
TEST(ErrorTest, VectorsGiveTheBitsOfSingleElements) {
  const Recomputed expected = sums(13);
  const auto found = rounded(expected.values);
  const Bounds bounds{bf16(), 1, 1e-6};
  ErrorSums together, single;
  for (size_t i = 0; i < kBlock; ++i)
    single.add(bounds.of(found[i], expected.values[i], expected.magnitudes[i]), i % kLanes);
  ASSERT_TRUE(add_block(together, bounds, 2, found.data(), expected.values.data(),
                        expected.magnitudes.data()));
  EXPECT_EQ(std::memcmp(&together, &single, sizeof single), 0);
  // Must fail: a block with an element out of bounds is left as it was.
  auto off = found;
  off[77] += 1;
  EXPECT_FALSE(add_block(together, bounds, 2, off.data(), expected.values.data(),
                         expected.magnitudes.data()));
  EXPECT_EQ(std::memcmp(&together, &single, sizeof single), 0);
}

TEST(ErrorTest, OneElementIsProven) {
  const Recomputed expected = sums(3);
  auto found = rounded(expected.values);
  found[17] += 0.1;
  const ErrorTest test = test_bf16(found, expected);
  EXPECT_GT(test.proven, 1);
  EXPECT_EQ(test.worst, 17);
}

TEST(ErrorTest, RepeatedRowsAreNoEvidence) {
  // One value over and over: its rounding error is that of all of them.
  Recomputed expected{std::vector<double>(kElements, 1 + 0.45 / 128),
                      std::vector<double>(kElements, 2), 8};
  EXPECT_LE(test_bf16(rounded(expected.values), expected).suspicious(), 1);
  // Must fail: as many values that are off by as much, each another one.
  Recomputed distinct = sums(4);
  std::vector<double> found = rounded(distinct.values);
  for (size_t i = 0; i < kElements; ++i) distinct.values[i] = found[i] * (1 - 0.45 / 128);
  EXPECT_GT(test_bf16(found, distinct).suspicious(), 1);
}

TEST(ErrorTest, AccumulationInANarrowTypeIsSuspicious) {
  const Recomputed expected = sums(5);
  std::mt19937_64 generator(6);
  std::normal_distribution<double> noise(0, 1.0 / 256);
  std::vector<double> found = expected.values;
  for (double& value : found) value += noise(generator);  // a few BF16 roundings of partial sums
  EXPECT_GT(test_bf16(rounded(found), expected).suspicious(), 1);
}

TEST(ErrorTest, NonFiniteWhereTheOperandsGiveAValueIsProven) {
  const Recomputed expected = sums(7);
  auto found = rounded(expected.values);
  found[5] = std::numeric_limits<double>::quiet_NaN();
  const ErrorTest test = test_bf16(found, expected);
  EXPECT_TRUE(std::isinf(test.proven));
  EXPECT_EQ(test.worst, 5);
}

TEST(ErrorTest, WhatOperandsDoNotTellIsLeftOut) {
  Recomputed expected = sums(8);
  auto found = rounded(expected.values);
  expected.values[5] = std::numeric_limits<double>::quiet_NaN();
  found[5] = 7;
  const ErrorTest test = test_bf16(found, expected);
  EXPECT_EQ(test.compared, static_cast<int64_t>(kElements) - 1);
  EXPECT_LE(test.suspicious(), 1);
}

TEST(ErrorTest, OverflowThatTheValuesExplainPasses) {
  const double limit = trace::max_finite(trace::DType::kBFloat16);
  const Recomputed expected{{2 * limit, -limit / 2}, {2 * limit, limit / 2}, 1};
  EXPECT_LE(test_bf16({std::numeric_limits<double>::infinity(), -limit / 2}, expected).proven, 1);
  EXPECT_GT(
      test_bf16({std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()},
                expected)
          .proven,
      1);
}

TEST(ErrorTest, RoundingsThatTheReplayDoesNotDoLeaveNothingProven) {
  const Recomputed expected = sums(9);
  auto found = rounded(expected.values);
  found[17] += 0.1;
  Rounding rounding = bf16();
  rounding.operands = 1.0 / 256;  // operands of size 8 cast to BF16: 0.03 each
  const ErrorTest test = test_errors(found, expected, rounding, kLambda);
  EXPECT_EQ(test.proven, 0);
  EXPECT_LE(test.element, 1);
}

TEST(ErrorTest, ValuesThatRoundToZeroPass) {
  const double least = trace::min_subnormal(trace::DType::kBFloat16);
  const Recomputed expected{{least / 3, -least / 3, 0}, {least / 3, least / 3, 0}, 1};
  EXPECT_LE(test_bf16({0, -0.0, 0}, expected).suspicious(), 1);
  EXPECT_GT(test_bf16({4 * least, 0, 0}, expected).proven, 1);
}

}  // namespace
}  // namespace nanhunt::oracle::test
