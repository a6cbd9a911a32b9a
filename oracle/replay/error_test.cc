// SPDX-License-Identifier: Apache-2.0
#include "oracle/replay/error_test.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <tuple>

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

struct Element {
  double error, value, inside, bound, certain;
};

// Of one element: how far rounding may move it.
struct Bounds {
  Rounding rounding;
  double worst_case, likely;  // of the op's roundings, over a magnitude

  // Of a value that is off by `inside` before it is rounded to the recorded type.
  [[gnu::always_inline]] double rounded_at_most(double expected, double inside) const {
    return rounding.result * (std::abs(expected) + inside) + rounding.min_subnormal / 2;
  }

  [[gnu::always_inline]] Element of(double found, double value, double magnitude) const {
    const double inside = likely * magnitude;
    // The worst case of many roundings in a coarse type has no bound at all.
    const double certain = magnitude > 0 ? worst_case * magnitude : 0;
    return {found - value, value, inside, rounded_at_most(value, inside),
            certain + rounded_at_most(value, certain)};
  }
};

double ratio(double error, double bound) {
  return error > 0 ? error / bound : 0;
}

// Adds up to kLanes elements, one a lane. False when one of them needs a look of its own: not
// finite, or worse than `element` and `proven` say.
[[gnu::always_inline]] inline bool add_some(Sums& sums, const Bounds& bounds, const double* found,
                                            const double* values, const double* magnitudes,
                                            const ErrorTest& worst, size_t count) {
  int plain = 1;
  for (size_t k = 0; k < count; ++k) {
    const Element e = bounds.of(found[k], values[k], magnitudes[k]);
    const bool finite = std::abs(e.error) < kInfinity && e.inside < kInfinity;
    const auto to = [&](Lanes& lanes, double term) { lanes.at[k] += finite ? term : 0; };
    to(sums.error, e.error);
    to(sums.error_squares, e.error * e.error);
    to(sums.bound_squares, e.bound * e.bound);
    to(sums.fourths, e.bound * e.bound * e.bound * e.bound);
    to(sums.inside, e.inside);
    to(sums.inside_squares, e.inside * e.inside);
    to(sums.scale, e.error * e.value);
    to(sums.scale_inside, e.inside * std::abs(e.value));
    to(sums.scale_squares, e.bound * e.bound * e.value * e.value);
    to(sums.expected_squares, e.value * e.value);
    const double size = std::abs(e.error);
    plain &= static_cast<int>(finite) &
             static_cast<int>(size <= worst.element * (e.inside + e.bound)) &
             static_cast<int>(size <= worst.proven * e.certain);
  }
  return plain != 0;
}

// Whole rounds of lanes from `begin` on, until one wants a look or the end is near; returns where
// it stopped. Compiled for the machine's vectors: nothing is contracted, so all versions give equal
// bits.
[[gnu::target_clones("avx512f", "avx2", "default")]] size_t add_rounds(
    Sums& sums, const Bounds& bounds, std::span<const double> found, const Recomputed& expected,
    const ErrorTest& worst, size_t begin) {
  Sums local = sums;
  size_t i = begin;
  bool plain = true;
  for (; plain && i + kLanes <= found.size(); i += kLanes) {
    plain = add_some(local, bounds, &found[i], &expected.values[i], &expected.magnitudes[i], worst,
                     kLanes);
  }
  sums = local;
  return i;
}

}  // namespace

class ErrorTester::Impl {
 public:
  Impl(const Rounding& rounding, double roundings, double lambda, int64_t elements)
      : lambda_(lambda), elements_(elements) {
    const double worst_case = gamma(roundings, rounding.inside);
    bounds_ = {rounding, worst_case,
               std::min(worst_case, lambda * std::sqrt(roundings) * rounding.inside) +
                   lambda * rounding.operands};
  }

  void add(std::span<const double> found, const Recomputed& expected) {
    size_t i = 0;
    while (i + kLanes <= found.size()) {
      i = add_rounds(sums_, bounds_, found, expected, test_, i);
      look_at(found, expected, i - kLanes, i);
    }
    if (i < found.size()) {
      add_some(sums_, bounds_, &found[i], &expected.values[i], &expected.magnitudes[i], test_,
               found.size() - i);
      look_at(found, expected, i, found.size());
    }
    seen_ += static_cast<int64_t>(found.size());
  }

  bool wants_dependence() const {
    const ErrorTest test =
        held(sums_.fourths.total(), sums_.scale_squares.total(), sums_.bound_squares.total());
    return std::max({test.norm, test.scale, test.shift}) > 1;
  }

  void add_dependence(std::span<const double> found, const Recomputed& expected) {
    if (!dependent_) dependent_.emplace(static_cast<size_t>(elements_));
    for (size_t i = 0; i < found.size(); ++i) {
      const Element e = bounds_.of(found[i], expected.values[i], expected.magnitudes[i]);
      if (!std::isfinite(e.error) || !std::isfinite(e.inside)) continue;
      dependent_->add(found[i], e.error, e.bound,
                      {e.bound * e.bound, e.bound * std::abs(e.value), e.bound});
    }
  }

  ErrorTest result() const {
    ErrorTest test =
        dependent_
            ? std::apply([&](auto... sums) { return held(sums...); }, dependent_->sums_of_squares())
            : held(sums_.fourths.total(), sums_.scale_squares.total(), sums_.bound_squares.total());
    test.compared = seen_ - left_out_;
    const double squares = sums_.expected_squares.total();
    if (squares > 0) test.factor = 1 + sums_.scale.total() / squares;
    if (bounds_.rounding.operands > 0) test.proven = 0;
    return test;
  }

 private:
  void look_at(std::span<const double> found, const Recomputed& expected, size_t begin,
               size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const double value = expected.values[i];
      const Element e = bounds_.of(found[i], value, expected.magnitudes[i]);
      const auto note = [&](double proven, double likely) {
        test_.proven = std::max(test_.proven, proven);
        if (likely <= test_.element && test_.worst >= 0) return;
        test_.element = likely;
        test_.worst = seen_ + static_cast<int64_t>(i);
        test_.expected = value;
        test_.found = found[i];
      };
      if (!std::isfinite(value) || !std::isfinite(e.inside)) {
        ++left_out_;
      } else if (!std::isfinite(found[i])) {
        // Within rounding of the type's limit, or beyond it: an overflow that the values explain.
        const auto& rounding = bounds_.rounding;
        const double room = rounding.max_finite * (1 - rounding.result) - std::abs(value);
        if (room > e.inside + e.certain) note(kInfinity, kInfinity);
      } else {
        note(ratio(std::abs(e.error), e.certain), ratio(std::abs(e.error), e.inside + e.bound));
      }
    }
  }

  // Rounding to the recorded type is at most b and independent from element to element; what the op
  // did before it may be common to many (a row's scale), so it is taken at its worst.
  ErrorTest held(double fourths, double scale_squares, double bound_squares) const {
    ErrorTest test = test_;
    test.norm =
        ratio(std::sqrt(sums_.error_squares.total()),
              std::sqrt(sums_.bound_squares.total() / 3 + lambda_ / 2 * std::sqrt(fourths)) +
                  std::sqrt(sums_.inside_squares.total()));
    test.scale = ratio(std::abs(sums_.scale.total()),
                       lambda_ * std::sqrt(scale_squares) + sums_.scale_inside.total());
    test.shift = ratio(std::abs(sums_.error.total()),
                       lambda_ * std::sqrt(bound_squares) + sums_.inside.total());
    return test;
  }

  double lambda_;
  int64_t elements_, seen_ = 0, left_out_ = 0;
  Bounds bounds_;
  ErrorTest test_;
  Sums sums_;
  std::optional<Dependent> dependent_;
};

ErrorTester::ErrorTester(const Rounding& rounding, double roundings, double lambda,
                         int64_t elements)
    : impl_(std::make_unique<Impl>(rounding, roundings, lambda, elements)) {}
ErrorTester::~ErrorTester() = default;
ErrorTester::ErrorTester(ErrorTester&&) noexcept = default;

void ErrorTester::add(std::span<const double> found, const Recomputed& expected) {
  impl_->add(found, expected);
}
bool ErrorTester::wants_dependence() const {
  return impl_->wants_dependence();
}
void ErrorTester::add_dependence(std::span<const double> found, const Recomputed& expected) {
  impl_->add_dependence(found, expected);
}
ErrorTest ErrorTester::result() const {
  return impl_->result();
}

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
  ErrorTester tester(rounding, expected.roundings, lambda, static_cast<int64_t>(found.size()));
  tester.add(found, expected);
  if (tester.wants_dependence()) tester.add_dependence(found, expected);
  return tester.result();
}

}  // namespace nanhunt::oracle
