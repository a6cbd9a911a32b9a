// SPDX-License-Identifier: Apache-2.0
// Power of the paired TOST (equivalence.h): the probability that it says "equivalent", for normal
// differences with standard deviation sd.
//
// Exact: given s = u sd the mean is normal, and (n-1) u^2 is chi-square with n-1 degrees of
// freedom, so that with t = t(1-alpha, n-1), m = margin / sd and D = difference / sd
//   power = int_0^(m sqrt(n) / t) [Phi((m-D) sqrt(n) - t u) - Phi(-(m+D) sqrt(n) + t u)] f(u) du,
// f the density of u: a difference of two of Owen's Q functions (Phillips 1990, J. Pharmacokinet.
// Biopharm. 18, 137-144). Integrated by adaptive Gauss-Kronrod, 61 points, to 1e-10.
#pragma once

#include <optional>

namespace nanhunt::repro {

struct Design {
  int seeds = 0;                  // pairs; at least 2
  double margin_over_sd = 0;      // above 0; Inf where sd is 0
  double alpha = 0.05;            // of each one-sided test
  double difference_over_sd = 0;  // of the true means
};

double power(const Design& design);

inline constexpr double kWantedPower = 0.8;
inline constexpr int kMostSeeds = 1000000;

// The fewest pairs whose power at true difference 0 reaches `wanted`; none up to kMostSeeds is
// nullopt.
std::optional<int> seeds_needed(double margin_over_sd, double alpha, double wanted = kWantedPower);

}  // namespace nanhunt::repro
