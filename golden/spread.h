// SPDX-License-Identifier: Apache-2.0
// How far healthy runs lie apart, and how far a further one may lie from their mean.
//
// N runs give vectors x_1 .. x_N (sketches; or one number: norm, loss). Their Helmert contrasts
//   c_j = (x_1 + ... + x_j - j x_(j+1)) / sqrt(j (j + 1)),   j = 1 .. N-1
// are independent with mean 0 and the covariance C of one run, if runs are independent and normal;
// the mean of ||c_j||^2 is tr C. A further run x has E ||x - mean||^2 = tr C (1 + 1/N), so
//   q = ||x - mean||^2 N / (N + 1)
// is compared with the mean of ||c_j||^2 by the tail of oracle/envelope.h: a scaled chi-square with
// nu degrees of freedom each (Satterthwaite 1946), their ratio an F(nu, nu (N-1)).
//
// nu = 2 / (relative variance of ||c_j||^2), pooled over the entries of a kind. Dividing n squares
// by their own mean makes that variance too small: for chi-squares with nu = 2k its expectation is
// 1 / (k + 1/n), the variance of a Dirichlet distribution's parts. What is returned is corrected
// for it, 1 / (1/v - 1/n). Numbers have nu = 1.
#pragma once

#include <cstdint>
#include <vector>

#include "oracle/envelope.h"
#include "trace/fingerprint.h"

namespace nanhunt::golden {

inline constexpr int kFewestForNoise = 3;  // runs: two contrasts

struct Spread {
  int64_t contrasts = 0;  // N-1; 0: none was measured
  double mean_square = 0;
};

// Of the distances within one kind of site.
struct Shape {
  double relative_variance = 0;  // corrected
  int64_t freedom = 0;           // of that estimate
};

// Squares of the contrasts' norms, in FP64, runs in the given order.
std::vector<double> contrast_squares(const std::vector<trace::Sketch>& runs);
std::vector<double> contrast_squares(const std::vector<double>& runs);
Spread spread_of(const std::vector<double>& squares);

// Collects the entries of one kind; all have the same number of contrasts.
class ShapeSum {
 public:
  void add(const std::vector<double>& squares);
  Shape shape() const;

 private:
  double sum_ = 0;
  int64_t freedom_ = 0, contrasts_ = 0;
};

// The largest healthy ||x - mean|| of a further run, `judged` of them sharing the family rate.
double bound(const Spread& spread, const Shape& shape, int64_t judged,
             const oracle::Thresholds& thresholds);
inline constexpr Shape kOfNumbers{2, 0};  // nu = 1

trace::Sketch mean_of(const std::vector<trace::Sketch>& runs);
double mean_of(const std::vector<double>& runs);
double distance(const trace::Sketch& a, const trace::Sketch& b);

}  // namespace nanhunt::golden
