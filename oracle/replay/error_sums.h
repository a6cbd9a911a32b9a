// SPDX-License-Identifier: Apache-2.0
// What the tests of errors need of a whole record: how far rounding may move each element, and sums
// over all of them. Names as in docs/rules.md, "Local replay": v recomputed, e error, c' what the
// op's roundings may give, b rounding to the recorded type.
#pragma once

#include <cmath>
#include <cstddef>

#include "oracle/replay/error_test.h"

namespace nanhunt::oracle {

struct Element {
  double error, value, inside, bound, certain;
};

// Of one element: how far rounding may move it.
struct Bounds {
  Rounding rounding;
  double worst_case, likely;  // of the op's roundings, over a magnitude

  // Of a value that is off by `inside` before it is rounded to the recorded type.
  double rounded_at_most(double expected, double inside) const {
    return rounding.result * (std::abs(expected) + inside) + rounding.min_subnormal / 2;
  }

  Element of(double found, double value, double magnitude) const {
    const double inside = likely * magnitude;
    // The worst case of many roundings in a coarse type has no bound at all.
    const double certain = magnitude > 0 ? worst_case * magnitude : 0;
    return {found - value, value, inside, rounded_at_most(value, inside),
            certain + rounded_at_most(value, certain)};
  }
};

// Sums in FP64, by lane: element i goes to lane i mod kLanes, in order; lanes are added at the end.
constexpr size_t kLanes = 4;
struct Lanes {
  double at[kLanes] = {};

  double total() const { return ((at[0] + at[1]) + at[2]) + at[3]; }
};

struct ErrorSums {
  Lanes error, error_squares;    // e, e^2
  Lanes bound_squares, fourths;  // b^2, b^4
  Lanes inside, inside_squares;  // c', c'^2
  Lanes scale, scale_inside;     // e v, c' |v|
  Lanes scale_squares;           // b^2 v^2
  Lanes expected_squares;        // v^2

  // An element that is finite.
  void add(const Element& e, size_t lane);
};

// Adds kBlock elements, as ErrorSums::add does one by one and with the same bits, when all of them
// are finite and no error is above `threshold` (c' + b); else adds none and returns false.
constexpr size_t kBlock = 512;
bool add_block(ErrorSums& sums, const Bounds& bounds, double threshold, const double* found,
               const double* values, const double* magnitudes);

}  // namespace nanhunt::oracle
