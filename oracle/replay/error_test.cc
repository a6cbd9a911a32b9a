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

// Sums over all elements, in FP64, by lane: element i goes to lane i mod kLanes, in order; lanes
// are added at the end. Elements that are not finite enter none of them.
constexpr size_t kLanes = 8;
struct Lanes {
  double at[kLanes] = {};

  double total() const {
    double sum = 0;
    for (const double lane : at) sum += lane;
    return sum;
  }
};

struct Sums {
  Lanes error, error_squares;    // e, e^2
  Lanes bound_squares, fourths;  // b^2, b^4
  Lanes inside, inside_squares;  // c', c'^2
  Lanes scale, scale_inside;     // e v, c' |v|
  Lanes scale_squares;           // (b v)^2
  Lanes expected_squares;        // v^2
};

class Tester {
 public:
  Tester(const std::vector<double>& found, const Recomputed& expected, const Rounding& rounding,
         double lambda)
      : found_(found),
        expected_(expected),
        rounding_(rounding),
        lambda_(lambda),
        worst_case_(gamma(expected.roundings, rounding.inside)),
        likely_(std::min(worst_case_, lambda * std::sqrt(expected.roundings) * rounding.inside) +
                lambda * rounding.operands) {}

  ErrorTest run() {
    size_t i = 0;
    for (; i + kLanes <= found_.size(); i += kLanes) {
      bool plain = true;
      for (size_t k = 0; k < kLanes; ++k) plain &= add(i + k, k);
      if (!plain) look_at(i, i + kLanes);
    }
    for (size_t k = 0; i + k < found_.size(); ++k) {
      if (!add(i + k, k)) look_at(i + k, i + k + 1);
    }
    test_.compared = static_cast<int64_t>(found_.size()) - left_out_;
    conclude();
    return test_;
  }

 private:
  struct Element {
    double error, value, inside, bound, certain;
  };

  // Of a value that is off by `inside` before it is rounded to the recorded type.
  double rounded_at_most(double expected, double inside) const {
    return rounding_.result * (std::abs(expected) + inside) + rounding_.min_subnormal / 2;
  }

  Element element(size_t i) const {
    const double value = expected_.values[i], magnitude = expected_.magnitudes[i];
    const double inside = likely_ * magnitude;
    // The worst case of many roundings in a coarse type has no bound at all.
    const double certain = magnitude > 0 ? worst_case_ * magnitude : 0;
    return {found_[i] - value, value, inside, rounded_at_most(value, inside),
            certain + rounded_at_most(value, certain)};
  }

  // False when the element needs a look of its own: not finite, or the worst so far.
  bool add(size_t i, size_t lane) {
    const Element e = element(i);
    const bool finite = std::abs(e.error) < kInfinity && e.inside < kInfinity;
    const auto to = [&](Lanes& lanes, double term) { lanes.at[lane] += finite ? term : 0; };
    to(sums_.error, e.error);
    to(sums_.error_squares, e.error * e.error);
    to(sums_.bound_squares, e.bound * e.bound);
    to(sums_.fourths, e.bound * e.bound * e.bound * e.bound);
    to(sums_.inside, e.inside);
    to(sums_.inside_squares, e.inside * e.inside);
    to(sums_.scale, e.error * e.value);
    to(sums_.scale_inside, e.inside * std::abs(e.value));
    to(sums_.scale_squares, e.bound * e.bound * e.value * e.value);
    to(sums_.expected_squares, e.value * e.value);
    const double size = std::abs(e.error);
    return finite && size <= test_.element * (e.inside + e.bound) &&
           size <= test_.proven * e.certain;
  }

  void look_at(size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const Element e = element(i);
      if (!std::isfinite(e.value) || !std::isfinite(e.inside)) {
        ++left_out_;
      } else if (!std::isfinite(found_[i])) {
        // Within rounding of the type's limit, or beyond it: an overflow that the values explain.
        const double room = rounding_.max_finite * (1 - rounding_.result) - std::abs(e.value);
        if (room > e.inside + e.certain) note(i, kInfinity, kInfinity);
      } else {
        note(i, ratio(std::abs(e.error), e.certain), ratio(std::abs(e.error), e.inside + e.bound));
      }
    }
  }

  static double ratio(double error, double bound) { return error > 0 ? error / bound : 0; }

  void note(size_t i, double proven, double likely) {
    test_.proven = std::max(test_.proven, proven);
    if (likely <= test_.element && test_.worst >= 0) return;
    test_.element = likely;
    test_.worst = static_cast<int64_t>(i);
    test_.expected = expected_.values[i];
    test_.found = found_[i];
  }

  // Rounding to the recorded type is at most b and independent from element to element; what the op
  // did before it may be common to many (a row's scale), so it is taken at its worst.
  void hold(double fourths, double scale_squares, double bound_squares) {
    test_.norm =
        ratio(std::sqrt(sums_.error_squares.total()),
              std::sqrt(sums_.bound_squares.total() / 3 + lambda_ / 2 * std::sqrt(fourths)) +
                  std::sqrt(sums_.inside_squares.total()));
    test_.scale = ratio(std::abs(sums_.scale.total()),
                        lambda_ * std::sqrt(scale_squares) + sums_.scale_inside.total());
    test_.shift = ratio(std::abs(sums_.error.total()),
                        lambda_ * std::sqrt(bound_squares) + sums_.inside.total());
  }

  void conclude() {
    const double squares = sums_.expected_squares.total();
    if (squares > 0) test_.factor = 1 + sums_.scale.total() / squares;
    if (rounding_.operands > 0) test_.proven = 0;
    // Dependence only widens these bounds: it is looked at where they do not hold without.
    hold(sums_.fourths.total(), sums_.scale_squares.total(), sums_.bound_squares.total());
    if (std::max({test_.norm, test_.scale, test_.shift}) <= 1) return;
    Dependent dependent(found_.size());
    for (size_t i = 0; i < found_.size(); ++i) {
      const Element e = element(i);
      if (!std::isfinite(e.error) || !std::isfinite(e.inside)) continue;
      dependent.add(found_[i], e.error, e.bound,
                    {e.bound * e.bound, e.bound * std::abs(e.value), e.bound});
    }
    const auto [norm, scale, shift] = dependent.sums_of_squares();
    hold(norm, scale, shift);
  }

  const std::vector<double>& found_;
  const Recomputed& expected_;
  const Rounding& rounding_;
  double lambda_, worst_case_, likely_;
  ErrorTest test_;
  Sums sums_;
  int64_t left_out_ = 0;
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
  return Tester(found, expected, rounding, lambda).run();
}

}  // namespace nanhunt::oracle
