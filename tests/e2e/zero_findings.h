// SPDX-License-Identifier: Apache-2.0
// What it proves that none of n runs had a finding.
#pragma once

#include <boost/math/distributions/binomial.hpp>
#include <cstdint>

namespace nanhunt::e2e {

// Exact (Clopper and Pearson 1934): if a run had a finding with more than this probability, n
// independent ones without any would be less than 5 % likely. 3 / n is its first order. n > 0.
inline double most_findings_at_95(int64_t n) {
  return boost::math::binomial_distribution<>::find_upper_bound_on_p(static_cast<double>(n), 0,
                                                                     0.05);
}

}  // namespace nanhunt::e2e
