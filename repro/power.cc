// SPDX-License-Identifier: Apache-2.0
#include "repro/power.h"

#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <boost/math/quadrature/gauss_kronrod.hpp>
#include <cmath>

#include "trace/check.h"

namespace nanhunt::repro {
namespace {

constexpr double kTail = 1e-13;  // of u's distribution, left out at each end
constexpr double kTolerance = 1e-10;
constexpr unsigned kDepth = 12;

// Density of u = s / sd, by logarithms: the powers leave the range from some 300 seeds on.
double density(double u, double freedom) {
  const double half = freedom / 2;
  return std::exp(std::log(2.0) + half * std::log(half) - std::lgamma(half) +
                  (freedom - 1) * std::log(u) - half * u * u);
}

}  // namespace

double power(const Design& design) {
  NANHUNT_CHECK(design.seeds >= 2 && design.margin_over_sd > 0);
  if (std::isinf(design.margin_over_sd)) return 1;
  const double freedom = design.seeds - 1;
  const double root = std::sqrt(static_cast<double>(design.seeds));
  const double t = quantile(complement(boost::math::students_t(freedom), design.alpha));
  const double below = (design.margin_over_sd - design.difference_over_sd) * root;
  const double above = (design.margin_over_sd + design.difference_over_sd) * root;
  const boost::math::normal standard;
  const auto integrand = [&](double u) {
    return (cdf(standard, below - t * u) - cdf(standard, t * u - above)) * density(u, freedom);
  };
  // The density is narrow for many seeds; points outside its bulk would be lost.
  const boost::math::chi_squared squares(freedom);
  const double first = std::sqrt(quantile(squares, kTail) / freedom);
  const double last = std::min(std::sqrt(quantile(complement(squares, kTail)) / freedom),
                               design.margin_over_sd * root / t);
  if (last <= first) return 0;
  const double integral = boost::math::quadrature::gauss_kronrod<double, 61>::integrate(
      integrand, first, last, kDepth, kTolerance);
  return std::clamp(integral, 0.0, 1.0);
}

std::optional<int> seeds_needed(double margin_over_sd, double alpha, double wanted) {
  const auto enough = [&](int seeds) { return power({seeds, margin_over_sd, alpha}) >= wanted; };
  int high = 2;
  while (!enough(high)) {
    if (high >= kMostSeeds) return std::nullopt;
    high = std::min(2 * high, kMostSeeds);
  }
  int low = std::max(1, high / 2);  // not enough, or too few to be asked
  while (high - low > 1) {
    const int middle = low + (high - low) / 2;
    (enough(middle) ? high : low) = middle;
  }
  return high;
}

}  // namespace nanhunt::repro
