// SPDX-License-Identifier: Apache-2.0
// How often the convergence level says equivalent, different and unknown (docs/convergence.md).
//
//   equivalence [RUNS]     simulated experiments per row, default 20000
//
// Simulated pairs with a margin of 2 standard deviations of the differences: three kinds of
// differences, all of standard deviation 1 about the true difference, which is 0, half the margin,
// the margin, and one and a half of it. Rates stand with their exact 99 % interval (Clopper and
// Pearson 1934), the power of repro/power.h beside the measured one. Ends with status 1 where
// normal differences on the margin pass more often than the level allows, or the measured power is
// not the printed one.
#include "repro/equivalence.h"

#include <boost/math/distributions/binomial.hpp>
#include <boost/random/exponential_distribution.hpp>
#include <boost/random/mersenne_twister.hpp>
#include <boost/random/normal_distribution.hpp>
#include <boost/random/student_t_distribution.hpp>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "repro/power.h"

namespace nanhunt {
namespace {

constexpr double kMargin = 2, kAlpha = 0.05;
constexpr double kOutside = 0.01;  // of each printed interval, and of all rows' checks together
constexpr int kDefaultRuns = 20000;
constexpr int kSeeds[] = {3, 5, 10};
constexpr double kDifferences[] = {0, 0.5, 1, 1.5};  // in margins

using Random = boost::random::mt19937_64;

struct Kind {
  std::string name;
  std::function<double(Random&)> draw;  // mean 0, standard deviation 1
};

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all = {
      {"normal", [](Random& random) { return boost::random::normal_distribution<>()(random); }},
      // t with 4 degrees of freedom: variance 2.
      {"heavy-tailed",
       [](Random& random) {
         return boost::random::student_t_distribution<>(4)(random) / std::sqrt(2.0);
       }},
      {"skewed",
       [](Random& random) { return boost::random::exponential_distribution<>()(random) - 1; }},
  };
  return all;
}

struct Counts {
  int equivalent = 0, different = 0, unknown = 0;
};

Counts simulate(const Kind& kind, int seeds, double difference, int runs, Random& random) {
  Counts counts;
  std::vector<repro::Pair> pairs(static_cast<size_t>(seeds));
  for (int run = 0; run < runs; ++run) {
    for (repro::Pair& pair : pairs) pair = {0, difference + kind.draw(random)};
    switch (repro::test_equivalence(pairs, kMargin, kAlpha).decision) {
      case repro::Decision::kEquivalent:
        ++counts.equivalent;
        break;
      case repro::Decision::kDifferent:
        ++counts.different;
        break;
      case repro::Decision::kUnknown:
        ++counts.unknown;
        break;
    }
  }
  return counts;
}

struct Rate {
  double measured, low, high;
};

Rate rate_of(int count, int runs, double outside = kOutside) {
  using Binomial = boost::math::binomial_distribution<>;
  const double tail = outside / 2;
  const double n = runs, k = count;
  return {k / n, Binomial::find_lower_bound_on_p(n, k, tail),
          Binomial::find_upper_bound_on_p(n, k, tail)};
}

std::string text_of(const Rate& rate) {
  char text[64];
  std::snprintf(text, sizeof text, "%.4f (%.4f to %.4f)", rate.measured, rate.low, rate.high);
  return text;
}

// What normal differences must keep; other kinds are shown, not promised.
bool keeps_promise(double difference, int equivalent, int runs, double power) {
  constexpr double kRows = std::size(kSeeds) * std::size(kDifferences);
  const Rate rate = rate_of(equivalent, runs, kOutside / kRows);
  const bool on_or_beyond = difference >= 1;
  return (!on_or_beyond || rate.low <= kAlpha) && rate.low <= power && power <= rate.high;
}

bool print_row(const Kind& kind, int seeds, double difference, int runs, Random& random) {
  const Counts counts = simulate(kind, seeds, difference * kMargin, runs, random);
  const double power = repro::power({seeds, kMargin, kAlpha, difference * kMargin});
  std::printf("| %s | %.1f | %d | %s | %s | %s | %.4f |\n", kind.name.c_str(), difference, seeds,
              text_of(rate_of(counts.equivalent, runs)).c_str(),
              text_of(rate_of(counts.different, runs)).c_str(),
              text_of(rate_of(counts.unknown, runs)).c_str(), power);
  return kind.name != "normal" || keeps_promise(difference, counts.equivalent, runs, power);
}

bool measure(int runs) {
  std::printf(
      "| differences | true difference / margin | seeds | equivalent | different | unknown | "
      "power, by theory |\n|---|---|---|---|---|---|---|\n");
  Random random(1987);
  bool kept = true;
  for (const Kind& kind : kinds()) {
    for (const double difference : kDifferences) {
      for (const int seeds : kSeeds) {
        const bool row_kept = print_row(kind, seeds, difference, runs, random);
        if (!row_kept) std::fprintf(stderr, "equivalence: not kept in the row above\n");
        kept = kept && row_kept;
      }
    }
  }
  return kept;
}

}  // namespace
}  // namespace nanhunt

int main(int argc, char** argv) {
  const int runs = argc > 1 ? std::atoi(argv[1]) : nanhunt::kDefaultRuns;
  if (runs < 1) {
    std::fprintf(stderr, "equivalence: RUNS must be a number above 0\n");
    return 2;
  }
  return nanhunt::measure(runs) ? 0 : 1;
}
