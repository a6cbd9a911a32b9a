// SPDX-License-Identifier: Apache-2.0
#include "oracle/replay/error_sums.h"

#include <cstdint>
#include <cstring>

namespace nanhunt::oracle {
namespace {

// Vectors by name: the compiler finds none by itself in a loop with this many sums. Of the width
// that every machine with AVX has; ten sums of twice that leave no register for anything else.
using Vector [[gnu::vector_size(kLanes * sizeof(double))]] = double;
using Mask [[gnu::vector_size(kLanes * sizeof(double))]] = int64_t;
static_assert(sizeof(ErrorSums) == 10 * sizeof(Vector));

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

// Compiled for the machine's vectors: nothing is contracted, so all versions give equal bits.
[[gnu::target_clones("avx512f", "avx2", "default")]] bool add_block(
    ErrorSums& sums, const Bounds& bounds, double threshold, const double* found,
    const double* values, const double* magnitudes) {
  const double result = bounds.rounding.result, tiny = bounds.rounding.min_subnormal / 2;
  const Mask without_sign = Mask{} + INT64_MAX;
  Vector error{}, error_squares{}, bound_squares{}, fourths{}, inside{}, inside_squares{}, scale{},
      scale_inside{}, scale_squares{}, expected_squares{};
  const auto each_sum = [&](auto&& with) __attribute__((always_inline)) {
    with(sums.error, error);
    with(sums.error_squares, error_squares);
    with(sums.bound_squares, bound_squares);
    with(sums.fourths, fourths);
    with(sums.inside, inside);
    with(sums.inside_squares, inside_squares);
    with(sums.scale, scale);
    with(sums.scale_inside, scale_inside);
    with(sums.scale_squares, scale_squares);
    with(sums.expected_squares, expected_squares);
  };
  each_sum([](const Lanes& from, Vector& to)
               __attribute__((always_inline)) { std::memcpy(&to, from.at, sizeof to); });
  Mask fine = Mask{} - 1;
  for (size_t i = 0; i < kBlock; i += kLanes) {
    Vector f, v, c;
    std::memcpy(&f, found + i, sizeof f);
    std::memcpy(&v, values + i, sizeof v);
    std::memcpy(&c, magnitudes + i, sizeof c);
    const Vector e = f - v, size = (Vector)((Mask)v & without_sign);
    c *= bounds.likely;
    const Vector b = result * (size + c) + tiny, b2 = b * b, v2 = v * v;
    // Also false for NaN; bounds that are not finite show in their sum.
    fine &= (Vector)((Mask)e & without_sign) <= threshold * (c + b);
    error += e;
    error_squares += e * e;
    bound_squares += b2;
    fourths += b2 * b2;
    inside += c;
    inside_squares += c * c;
    scale += e * v;
    scale_inside += c * size;
    scale_squares += b2 * v2;
    expected_squares += v2;
  }
  int64_t all = -1;
  for (size_t lane = 0; lane < kLanes; ++lane) all &= std::isfinite(inside[lane]) ? fine[lane] : 0;
  if (all == 0) return false;
  each_sum([](Lanes & to, const Vector& from)
               __attribute__((always_inline)) { std::memcpy(to.at, &from, sizeof from); });
  return true;
}

}  // namespace nanhunt::oracle
