// SPDX-License-Identifier: Apache-2.0
#include "oracle/replay/error_test.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <tuple>

#include "oracle/replay/error_sums.h"
#include "oracle/rules/rule_tools.h"

namespace nanhunt::oracle {
namespace {

using Values = std::span<const double>;

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

double ratio(double error, double bound) {
  return error > 0 ? error / bound : 0;
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

  void add(Values found, Values values, Values magnitudes) {
    for (size_t begin = 0; begin < found.size(); begin += kBlock) {
      const size_t end = std::min(begin + kBlock, found.size());
      // Errors out of bound are looked at one by one, and of the others only the worst so far.
      const double threshold = std::min(test_.element, 1.0);
      if (end - begin < kBlock || !add_block(sums_, bounds_, threshold, &found[begin],
                                             &values[begin], &magnitudes[begin])) {
        add_one_by_one(found, values, magnitudes, begin, end);
      }
    }
    seen_ += static_cast<int64_t>(found.size());
  }

  bool wants_dependence() const {
    const ErrorTest test =
        held(sums_.fourths.total(), sums_.scale_squares.total(), sums_.bound_squares.total());
    return std::max({test.norm, test.scale, test.shift}) > 1;
  }

  void add_dependence(Values found, Values values, Values magnitudes) {
    if (!dependent_) dependent_.emplace(static_cast<size_t>(elements_));
    for (size_t i = 0; i < found.size(); ++i) {
      const Element e = bounds_.of(found[i], values[i], magnitudes[i]);
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

  double norm_of_magnitudes() const {
    return bounds_.likely > 0 ? std::sqrt(sums_.inside_squares.total()) / bounds_.likely : 0;
  }

 private:
  void add_one_by_one(Values found, Values values, Values magnitudes, size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const double value = values[i];
      const Element e = bounds_.of(found[i], value, magnitudes[i]);
      if (std::isfinite(e.error) && std::isfinite(e.inside)) sums_.add(e, (i - begin) % kLanes);
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
  ErrorSums sums_;
  std::optional<Dependent> dependent_;
};

ErrorTester::ErrorTester(const Rounding& rounding, double roundings, double lambda,
                         int64_t elements)
    : impl_(std::make_unique<Impl>(rounding, roundings, lambda, elements)) {}
ErrorTester::~ErrorTester() = default;
ErrorTester::ErrorTester(ErrorTester&&) noexcept = default;

void ErrorTester::add(Values found, Values values, Values magnitudes) {
  impl_->add(found, values, magnitudes);
}
bool ErrorTester::wants_dependence() const {
  return impl_->wants_dependence();
}
void ErrorTester::add_dependence(Values found, Values values, Values magnitudes) {
  impl_->add_dependence(found, values, magnitudes);
}
ErrorTest ErrorTester::result() const {
  return impl_->result();
}
double ErrorTester::norm_of_magnitudes() const {
  return impl_->norm_of_magnitudes();
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
  tester.add(found, expected.values, expected.magnitudes);
  if (tester.wants_dependence()) tester.add_dependence(found, expected.values, expected.magnitudes);
  return tester.result();
}

}  // namespace nanhunt::oracle
