// SPDX-License-Identifier: Apache-2.0
// Are two training set-ups equivalent? Two one-sided t tests (TOST; Schuirmann 1987, J.
// Pharmacokinet. Biopharm. 15, 657-680) on the paired differences d_s = b_s - a_s, one number per
// seed s: A is the reference, B the candidate.
//
// The decision is read off the two-sided 1-2alpha confidence interval of the mean difference,
// mean(d) +- t(1-alpha, n-1) sd(d) / sqrt(n), which is the same as both one-sided tests at alpha:
//   equivalent  the interval lies inside the open interval (-margin, margin)
//   different   it lies wholly outside [-margin, margin]
//   unknown     anything else; failing to show a difference shows no equivalence
//
// NaN and Inf are no numbers to average. A seed with one on one side only is a difference of its
// own, whatever the other seeds say. With one on both sides the seed has no difference, and
// "equivalent" is out of reach: what was left out because of how it went could have said otherwise.
#pragma once

#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace nanhunt::repro {

inline constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kNoLimit = std::numeric_limits<double>::infinity();

enum class Decision { kEquivalent, kDifferent, kUnknown };

struct Pair {
  double a = 0, b = 0;  // the same seed under both set-ups
};

struct Equivalence {
  Decision decision = Decision::kUnknown;
  std::string reason;               // one line: why
  std::vector<double> differences;  // of the pairs that have one, in their order
  std::vector<int> one_side;        // pairs, counted from 0, not finite on one side only
  std::vector<int> both_sides;      // pairs without a difference: not finite on both sides, or
                                    // finite and beyond FP64
  // With fewer than two differences no number, and an interval without limits. sd: sample standard
  // deviation, n-1. p: the larger of the two one-sided p values.
  double mean = kNoNumber, sd = kNoNumber, p = kNoNumber;
  double low = -kNoLimit, high = kNoLimit;
};

std::string_view name_of(Decision decision);

// Throw Error(kUsage). A margin is finite and above 0, alpha in (0, 0.5).
void require_margin(double margin, const std::string& what);
void require_alpha(double alpha);

// Mean and sample standard deviation in FP64, two passes in the given order over values divided by
// the largest, so that no square leaves the range. Equal values have deviation 0.
struct Moments {
  double mean = 0, sd = 0;
};
Moments moments(const std::vector<double>& values);  // at least two, finite

Equivalence test_equivalence(const std::vector<Pair>& pairs, double margin, double alpha);

// Over metrics: equivalent when all are (an intersection-union test: each at alpha, no correction),
// different when any is, else unknown. None at all is unknown.
Decision overall(const std::vector<Decision>& decisions);

}  // namespace nanhunt::repro
