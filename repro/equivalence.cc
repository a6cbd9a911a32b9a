// SPDX-License-Identifier: Apache-2.0
#include "repro/equivalence.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

#include "compare/numbers.h"
#include "trace/check.h"
#include "trace/error.h"

namespace nanhunt::repro {
namespace {

using compare::short_number;

[[noreturn]] void refuse(const std::string& message) {
  throw trace::Error(trace::ErrorKind::kUsage, message);
}

// "pair 2", "pairs 2, 5"; counted from 1 as on a command line.
std::string pairs_text(const std::vector<int>& pairs) {
  std::vector<std::string> numbers;
  for (const int pair : pairs) numbers.push_back(std::to_string(pair + 1));
  return (pairs.size() == 1 ? "pair " : "pairs ") + compare::join(numbers, ", ");
}

void sort_pairs(const std::vector<Pair>& pairs, Equivalence& result) {
  for (size_t i = 0; i < pairs.size(); ++i) {
    const Pair& pair = pairs[i];
    const double difference = pair.b - pair.a;
    if (std::isfinite(pair.a) != std::isfinite(pair.b)) {
      result.one_side.push_back(static_cast<int>(i));
    } else if (std::isfinite(difference)) {
      result.differences.push_back(difference);
    } else {
      result.both_sides.push_back(static_cast<int>(i));
    }
  }
}

// The probability that t is above the value; s/sqrt(n) = 0 makes it 0 or 1.
double upper_tail(double distance, double error, double freedom) {
  if (error == 0) return distance > 0 ? 0 : 1;
  const double t = distance / error;
  if (std::isinf(t)) return t > 0 ? 0 : 1;
  return cdf(complement(boost::math::students_t(freedom), t));
}

void add_interval(double margin, double alpha, Equivalence& result) {
  const auto n = static_cast<double>(result.differences.size());
  const Moments m = moments(result.differences);
  const double error = m.sd / std::sqrt(n);
  const double t = quantile(complement(boost::math::students_t(n - 1), alpha));
  result.mean = m.mean;
  result.sd = m.sd;
  result.low = m.mean - t * error;
  result.high = m.mean + t * error;
  result.p = std::isinf(error) ? 1
                               : std::max(upper_tail(m.mean + margin, error, n - 1),
                                          upper_tail(margin - m.mean, error, n - 1));
}

std::string interval_text(const Equivalence& result, double margin) {
  return "[" + short_number(result.low) + ", " + short_number(result.high) + "] against -" +
         short_number(margin) + " to " + short_number(margin);
}

void decide_by_interval(double margin, Equivalence& result) {
  const std::string interval = interval_text(result, margin);
  if (result.low > margin || result.high < -margin) {
    result.decision = Decision::kDifferent;
    result.reason = "the interval lies outside the margin: " + interval;
  } else if (!(result.low > -margin && result.high < margin)) {
    result.reason = "the interval reaches over the margin: " + interval;
  } else if (!result.both_sides.empty()) {
    result.reason = "inside the margin, but without " + pairs_text(result.both_sides) +
                    ": NaN or Inf on both sides, so no difference: " + interval;
  } else {
    result.decision = Decision::kEquivalent;
    result.reason = "the interval lies inside the margin: " + interval;
  }
}

}  // namespace

std::string_view name_of(Decision decision) {
  switch (decision) {
    case Decision::kEquivalent:
      return "equivalent";
    case Decision::kDifferent:
      return "different";
    case Decision::kUnknown:
      return "unknown";
  }
  NANHUNT_CHECK(false);
}

void require_margin(double margin, const std::string& what) {
  if (std::isfinite(margin) && margin > 0) return;
  refuse("the margin of " + what + " is " + short_number(margin) +
         ": it must be a finite number above 0, as no two runs are shown to differ by nothing");
}

void require_alpha(double alpha) {
  if (alpha > 0 && alpha < 0.5) return;
  refuse("alpha is " + short_number(alpha) + ": it must lie between 0 and 0.5");
}

Moments moments(const std::vector<double>& values) {
  NANHUNT_CHECK(values.size() >= 2);
  const auto n = static_cast<double>(values.size());
  double largest = 0;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  if (largest == 0) return {0, 0};
  double sum = 0;
  for (const double value : values) sum += value / largest;
  const double mean = sum / n;
  double squares = 0;
  for (const double value : values) {
    const double away = value / largest - mean;
    squares += away * away;
  }
  return {largest * mean, largest * std::sqrt(squares / (n - 1))};
}

Equivalence test_equivalence(const std::vector<Pair>& pairs, double margin, double alpha) {
  require_margin(margin, "the test");
  require_alpha(alpha);
  Equivalence result;
  sort_pairs(pairs, result);
  if (result.differences.size() >= 2) add_interval(margin, alpha, result);
  if (!result.one_side.empty()) {
    result.decision = Decision::kDifferent;
    result.reason = pairs_text(result.one_side) +
                    " went to NaN or Inf on one side only; no average over the others hides that";
  } else if (result.differences.size() < 2) {
    result.reason = std::to_string(result.differences.size()) +
                    " paired differences; at least 2 are needed to see their spread";
    if (!result.both_sides.empty()) {
      result.reason += "; " + pairs_text(result.both_sides) + ": NaN or Inf on both sides";
    }
  } else {
    decide_by_interval(margin, result);
  }
  return result;
}

Decision overall(const std::vector<Decision>& decisions) {
  const auto is = [](Decision wanted) {
    return [wanted](Decision decision) { return decision == wanted; };
  };
  if (std::ranges::any_of(decisions, is(Decision::kDifferent))) return Decision::kDifferent;
  if (decisions.empty() || !std::ranges::all_of(decisions, is(Decision::kEquivalent))) {
    return Decision::kUnknown;
  }
  return Decision::kEquivalent;
}

}  // namespace nanhunt::repro
