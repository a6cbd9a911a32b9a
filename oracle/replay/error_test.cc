// SPDX-License-Identifier: Apache-2.0
#include "oracle/replay/error_test.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "oracle/rules/rule_tools.h"

namespace nanhunt::oracle {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Sums of squares of bounds over elements whose rounding errors may not be independent: rows of
// equal tokens have equal errors. Elements with the same found value and about the same error share
// a bucket, and what shares a bucket is taken for fully dependent. Chance sharing only widens the
// bound.
class Dependent {
 public:
  static constexpr size_t kSums = 3;
  using Terms = std::array<double, kSums>;

  explicit Dependent(size_t elements)
      : buckets_(std::bit_ceil(std::clamp<size_t>(8 * elements, 64, 1 << 16))),
        shift_(64 - std::countr_zero(buckets_.size())) {}

  void add(double found, double error, double bound, const Terms& terms) {
    const auto part = static_cast<uint64_t>(bound > 0 ? (std::abs(error) / bound) * 8 : 0);
    uint64_t key = std::bit_cast<uint64_t>(found) + (2 * part + (error < 0)) * 0x9E3779B97F4A7C15u;
    key *= 0xD6E8FEB86659FD93u;
    key ^= key >> 32;
    key *= 0xD6E8FEB86659FD93u;
    Terms& bucket = buckets_[key >> shift_];
    for (size_t k = 0; k < kSums; ++k) bucket[k] += terms[k];
  }

  Terms sums_of_squares() const {
    Terms totals{};
    for (const Terms& bucket : buckets_) {
      for (size_t k = 0; k < kSums; ++k) totals[k] += bucket[k] * bucket[k];
    }
    return totals;
  }

 private:
  std::vector<Terms> buckets_;
  int shift_;
};

class Tester {
 public:
  Tester(const Rounding& rounding, double roundings, double lambda, size_t elements)
      : rounding_(rounding),
        lambda_(lambda),
        worst_case_(gamma(roundings, rounding.inside)),
        likely_(std::min(worst_case_, lambda * std::sqrt(roundings) * rounding.inside) +
                lambda * rounding.operands),
        dependent_(elements) {}

  void add(int64_t index, double found, double expected, double magnitude) {
    if (!std::isfinite(expected) || !std::isfinite(magnitude)) return;
    ++test_.compared;
    const double inside = likely_ * magnitude;
    // The worst case of many roundings in a coarse type has no bound at all.
    const double certain = magnitude > 0 ? worst_case_ * magnitude : 0;
    if (!std::isfinite(found)) {
      // Within rounding of the type's limit, or beyond it: an overflow that the values explain.
      const double room = rounding_.max_finite * (1 - rounding_.result) - std::abs(expected);
      if (room > inside + certain) note(index, found, expected, kInfinity, kInfinity);
      return;
    }
    const double error = found - expected;
    const double rounded = rounded_at_most(expected, inside);
    note(index, found, expected,
         ratio(std::abs(error), certain + rounded_at_most(expected, certain)),
         ratio(std::abs(error), inside + rounded));
    add_to_sums(found, expected, error, rounded, inside);
  }

  ErrorTest finish() {
    const auto [norm, scale, shift] = dependent_.sums_of_squares();
    test_.norm = ratio(
        std::sqrt(error_squares_),
        std::sqrt(squares_bound_ / 3 + lambda_ / 2 * std::sqrt(norm)) + std::sqrt(inside_squares_));
    test_.scale = ratio(std::abs(scale_), lambda_ * std::sqrt(scale) + scale_inside_);
    test_.shift = ratio(std::abs(shift_), lambda_ * std::sqrt(shift) + shift_inside_);
    if (expected_squares_ > 0) test_.factor = 1 + scale_ / expected_squares_;
    if (rounding_.operands > 0) test_.proven = 0;
    return test_;
  }

 private:
  // Of a value that is off by `inside` before it is rounded to the recorded type.
  double rounded_at_most(double expected, double inside) const {
    return rounding_.result * (std::abs(expected) + inside) + rounding_.min_subnormal / 2;
  }

  static double ratio(double error, double bound) { return error > 0 ? error / bound : 0; }

  void note(int64_t index, double found, double expected, double proven, double likely) {
    test_.proven = std::max(test_.proven, proven);
    if (likely <= test_.element && test_.worst >= 0) return;
    test_.element = likely;
    test_.worst = index;
    test_.expected = expected;
    test_.found = found;
  }

  // Rounding to the recorded type is independent from element to element and at most `rounded`;
  // what the op did before it may be common to many (a row's scale), so it is taken at its worst.
  void add_to_sums(double found, double expected, double error, double rounded, double inside) {
    error_squares_ += error * error;
    squares_bound_ += rounded * rounded;
    inside_squares_ += inside * inside;
    expected_squares_ += expected * expected;
    scale_ += error * expected;
    scale_inside_ += inside * std::abs(expected);
    shift_ += error;
    shift_inside_ += inside;
    dependent_.add(found, error, rounded,
                   {rounded * rounded, rounded * std::abs(expected), rounded});
  }

  const Rounding& rounding_;
  double lambda_, worst_case_, likely_;
  ErrorTest test_;
  Dependent dependent_;
  double error_squares_ = 0, squares_bound_ = 0, inside_squares_ = 0, expected_squares_ = 0;
  double scale_ = 0, scale_inside_ = 0, shift_ = 0, shift_inside_ = 0;
};

}  // namespace

double ErrorTest::suspicious() const {
  return std::max({element, norm, scale, shift});
}

std::string ErrorTest::leading() const {
  const double most = suspicious();
  if (element == most) return "element";
  if (norm == most) return "norm";
  return scale == most ? "scale" : "shift";
}

ErrorTest test_errors(const std::vector<double>& found, const Recomputed& expected,
                      const Rounding& rounding, double lambda) {
  Tester tester(rounding, expected.roundings, lambda, found.size());
  for (size_t i = 0; i < found.size(); ++i) {
    tester.add(static_cast<int64_t>(i), found[i], expected.values[i], expected.magnitudes[i]);
  }
  return tester.finish();
}

}  // namespace nanhunt::oracle
