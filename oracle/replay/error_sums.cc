// SPDX-License-Identifier: Apache-2.0
#include "oracle/replay/error_sums.h"

#include <cstdint>

namespace nanhunt::oracle {
namespace {

// Vectors by name: the compiler finds none by itself in a loop with this many sums. Of the width
// that every machine with AVX has.
using Vector [[gnu::vector_size(kLanes * sizeof(double))]] = double;
using Mask [[gnu::vector_size(kLanes * sizeof(double))]] = int64_t;
static_assert(sizeof(ErrorSums) == 10 * sizeof(Vector));

// The vector that lies there. References: vectors by value have another ABI in each version.
using InMemory
    [[gnu::vector_size(kLanes * sizeof(double)), gnu::aligned(alignof(double)), gnu::may_alias]] =
        double;
[[gnu::always_inline]] inline const InMemory& vector_at(const double* first) {
  return *reinterpret_cast<const InMemory*>(first);
}
[[gnu::always_inline]] inline InMemory& vector_at(double* first) {
  return *reinterpret_cast<InMemory*>(first);
}

}  // namespace

void ErrorSums::add(const Element& e, size_t lane) {
  const double bound_square = e.bound * e.bound, value_square = e.value * e.value;
  error.at[lane] += e.error;
  error_squares.at[lane] += e.error * e.error;
  bound_squares.at[lane] += bound_square;
  fourths.at[lane] += bound_square * bound_square;
  inside.at[lane] += e.inside;
  inside_squares.at[lane] += e.inside * e.inside;
  scale.at[lane] += e.error * e.value;
  scale_inside.at[lane] += e.inside * std::abs(e.value);
  scale_squares.at[lane] += bound_square * value_square;
  expected_squares.at[lane] += value_square;
}

// Compiled for the machine's vectors: nothing is contracted, so all versions give equal bits. Two
// loops: the sums of one would not all have a register, and one that goes through memory waits for
// it in every round.
[[gnu::target_clones("avx512f", "avx2", "default")]] bool add_block(
    ErrorSums& sums, const Bounds& bounds, double threshold, const double* found,
    const double* values, const double* magnitudes) {
  const double likely = bounds.likely;
  const Mask without_sign = Mask{} + INT64_MAX;
  alignas(64) double rounded[kBlock];  // b

  Vector error = vector_at(sums.error.at), error_squares = vector_at(sums.error_squares.at),
         scale = vector_at(sums.scale.at);
  const double result = bounds.rounding.result, tiny = bounds.rounding.min_subnormal / 2;
  Mask fine = Mask{} - 1;
#pragma GCC unroll 4
  for (size_t i = 0; i < kBlock; i += kLanes) {
    const Vector v = vector_at(values + i), c = likely * vector_at(magnitudes + i),
                 e = vector_at(found + i) - v;
    const Vector size = (Vector)((Mask)v & without_sign), b = result * (size + c) + tiny;
    vector_at(rounded + i) = b;
    // Also false for NaN; bounds that are not finite show in their sum.
    fine &= (Vector)((Mask)e & without_sign) <= threshold * (c + b);
    error += e;
    error_squares += e * e;
    scale += e * v;
  }

  Vector bound_squares = vector_at(sums.bound_squares.at), fourths = vector_at(sums.fourths.at),
         inside = vector_at(sums.inside.at), inside_squares = vector_at(sums.inside_squares.at),
         scale_inside = vector_at(sums.scale_inside.at),
         scale_squares = vector_at(sums.scale_squares.at),
         expected_squares = vector_at(sums.expected_squares.at);
#pragma GCC unroll 4
  for (size_t i = 0; i < kBlock; i += kLanes) {
    const Vector v = vector_at(values + i), c = likely * vector_at(magnitudes + i),
                 b = vector_at(rounded + i);
    const Vector size = (Vector)((Mask)v & without_sign), b2 = b * b, v2 = v * v;
    bound_squares += b2;
    fourths += b2 * b2;
    inside += c;
    inside_squares += c * c;
    scale_inside += c * size;
    scale_squares += b2 * v2;
    expected_squares += v2;
  }

  int64_t all = -1;
  for (size_t lane = 0; lane < kLanes; ++lane) all &= std::isfinite(inside[lane]) ? fine[lane] : 0;
  if (all == 0) return false;
  vector_at(sums.error.at) = error;
  vector_at(sums.error_squares.at) = error_squares;
  vector_at(sums.scale.at) = scale;
  vector_at(sums.bound_squares.at) = bound_squares;
  vector_at(sums.fourths.at) = fourths;
  vector_at(sums.inside.at) = inside;
  vector_at(sums.inside_squares.at) = inside_squares;
  vector_at(sums.scale_inside.at) = scale_inside;
  vector_at(sums.scale_squares.at) = scale_squares;
  vector_at(sums.expected_squares.at) = expected_squares;
  return true;
}

}  // namespace nanhunt::oracle
