// SPDX-License-Identifier: Apache-2.0
// The sketch: linear over shards and partial sums, and a fair estimate of norms of differences.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "trace/fingerprint.h"

namespace nanhunt::trace {
namespace {

constexpr int64_t kRows = 64;
constexpr int64_t kColumns = 1024;
using Matrix = std::vector<float>;

RegionPrint print_of(const Matrix& matrix) {
  return fingerprint(contiguous_view(matrix.data(), DType::kFloat32, {kRows, kColumns}),
                     whole({"token", "channel"}, {kRows, kColumns}))
      .regions[0];
}

Matrix random_matrix(std::mt19937_64& random) {
  std::normal_distribution<float> normal;
  Matrix matrix(kRows * kColumns);
  for (float& value : matrix) value = normal(random);
  return matrix;
}

double true_distance(const Matrix& a, const Matrix& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double difference = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    sum += difference * difference;
  }
  return std::sqrt(sum);
}

using Spot = std::function<bool(int64_t row, int64_t column)>;

// Ratios of estimated to true distance, sorted, when noise is added at the chosen spots.
std::vector<double> ratios(const std::function<Spot(std::mt19937_64&)>& draw, float constant = 0) {
  std::mt19937_64 random(21);
  std::normal_distribution<float> normal;
  std::vector<double> result;
  const Matrix before = random_matrix(random);
  const Sketch sketch = print_of(before).sketch;
  for (int round = 0; round < 100; ++round) {
    const Spot spot = draw(random);
    Matrix after = before;
    for (int64_t row = 0; row < kRows; ++row) {
      for (int64_t column = 0; column < kColumns; ++column) {
        if (!spot(row, column)) continue;
        after[row * kColumns + column] += constant != 0 ? constant : 0.01F * normal(random);
      }
    }
    result.push_back(sketch_norm(subtract(print_of(after).sketch, sketch)) /
                     true_distance(after, before));
  }
  std::sort(result.begin(), result.end());
  return result;
}

void expect_fair(const std::vector<double>& sorted) {
  EXPECT_GT(sorted.front(), 0.5);
  EXPECT_LT(sorted.back(), 1.6);
  EXPECT_NEAR(sorted[sorted.size() / 2], 1.0, 0.1);
}

int64_t pick(std::mt19937_64& random, int64_t count) {
  return static_cast<int64_t>(random() % static_cast<uint64_t>(count));
}

TEST(Sketch, NormOfADifferenceEverywhere) {
  expect_fair(ratios([](std::mt19937_64&) { return [](int64_t, int64_t) { return true; }; }));
}

TEST(Sketch, NormOfADifferenceInOneRow) {
  expect_fair(ratios([](std::mt19937_64& random) {
    return [at = pick(random, kRows)](int64_t row, int64_t) { return row == at; };
  }));
}

TEST(Sketch, NormOfADifferenceInOneColumn) {
  expect_fair(ratios([](std::mt19937_64& random) {
    return [at = pick(random, kColumns)](int64_t, int64_t column) { return column == at; };
  }));
}

TEST(Sketch, NormOfADifferenceIn32Columns) {
  expect_fair(ratios([](std::mt19937_64& random) {
    return [at = pick(random, kColumns - 32)](int64_t, int64_t column) {
      return column >= at && column < at + 32;
    };
  }));
}

// Equal differences add up within a bucket unless the signs are random.
TEST(Sketch, NormOfAConstantDifference) {
  expect_fair(ratios(
      [](std::mt19937_64& random) {
        return [at = pick(random, kRows)](int64_t row, int64_t) { return row == at; };
      },
      0.25F));
}

// The twin: buckets of unsigned sums, the same difference, are far off.
TEST(Sketch, WithoutSignsTheNormOfAConstantIsWrong) {
  std::vector<double> buckets(kSketchBuckets);
  for (int64_t i = 0; i < kColumns; ++i) buckets[i % kSketchBuckets] += 0.25;
  const double norm =
      std::sqrt(std::inner_product(buckets.begin(), buckets.end(), buckets.begin(), 0.0));
  EXPECT_GT(norm / (0.25 * std::sqrt(static_cast<double>(kColumns))), 3);
}

TEST(Sketch, OneElementIsExact) {
  Matrix zero(kRows * kColumns), one(kRows * kColumns);
  one[12345] = -3.5F;
  EXPECT_EQ(sketch_norm(subtract(print_of(one).sketch, print_of(zero).sketch)), 3.5);
}

TEST(Sketch, SwappedRowsAreSeenThoughStatisticsAreNot) {
  std::mt19937_64 random(22);
  const Matrix before = random_matrix(random);
  Matrix after = before;
  std::swap_ranges(after.begin() + 3 * kColumns, after.begin() + 4 * kColumns,
                   after.begin() + 40 * kColumns);
  const double estimate =
      sketch_norm(subtract(print_of(after).sketch, print_of(before).sketch));
  EXPECT_GT(estimate / true_distance(after, before), 0.5);
  EXPECT_LT(estimate / true_distance(after, before), 1.6);
  EXPECT_NEAR(print_of(after).sum_squares, print_of(before).sum_squares, 1e-9 * kRows * kColumns);
}

TEST(Sketch, AddsUpOverPartialSums) {
  std::mt19937_64 random(23);
  Matrix sum(kRows * kColumns);
  std::vector<Matrix> parts(4, sum);
  for (size_t i = 0; i < sum.size(); ++i) {
    for (Matrix& part : parts) {
      // Multiples of 2^-10 below 1: their sums are exact in FP32.
      part[i] = static_cast<float>(random() % 1024) / 1024.0F;
      sum[i] += part[i];
    }
  }
  RegionPrint added;
  for (const Matrix& part : parts) added = add(added, print_of(part));
  const Sketch whole_sketch = print_of(sum).sketch;
  EXPECT_LT(sketch_norm(subtract(added.sketch, whole_sketch)), 1e-9);
  EXPECT_NE(added.value_digest, print_of(sum).value_digest);  // a digest is not linear in values
  // The twin: one part missing.
  added = add(add(print_of(parts[0]), print_of(parts[1])), print_of(parts[2]));
  EXPECT_GT(sketch_norm(subtract(added.sketch, whole_sketch)), 10);
}

TEST(Sketch, NonFiniteElementsCountAsZeroAndMask) {
  std::mt19937_64 random(24);
  Matrix matrix = random_matrix(random);
  matrix[777] = 0;
  const RegionPrint clean = print_of(matrix);
  EXPECT_FALSE(clean.masked());
  matrix[777] = std::nanf("");
  const RegionPrint with_nan = print_of(matrix);
  EXPECT_TRUE(with_nan.masked());
  EXPECT_LT(sketch_norm(subtract(with_nan.sketch, clean.sketch)), 1e-12);
  EXPECT_NE(with_nan.value_digest, clean.value_digest);
  matrix[777] = INFINITY;
  EXPECT_EQ(print_of(matrix).mask_digest, with_nan.mask_digest);  // positions only
  EXPECT_NE(print_of(matrix).value_digest, with_nan.value_digest);
  matrix[777] = 0;
  matrix[778] = INFINITY;
  EXPECT_NE(print_of(matrix).mask_digest, with_nan.mask_digest);
}

TEST(Sketch, DotEstimatesTheInnerProduct) {
  std::mt19937_64 random(25);
  const Matrix a = random_matrix(random);
  Matrix b = a;
  for (float& value : b) value *= 2;
  const RegionPrint print_a = print_of(a), print_b = print_of(b);
  EXPECT_NEAR(sketch_dot(print_a.sketch, print_b.sketch),
              2 * sketch_dot(print_a.sketch, print_a.sketch), 1e-6 * print_a.sum_squares);
  const RegionPrint other = print_of(random_matrix(random));
  EXPECT_LT(std::abs(sketch_dot(print_a.sketch, other.sketch)), 0.6 * print_a.sum_squares);
}

}  // namespace
}  // namespace nanhunt::trace
