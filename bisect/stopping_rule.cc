// SPDX-License-Identifier: Apache-2.0
#include "bisect/stopping_rule.h"

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <cmath>
#include <optional>
#include <string>

#include "trace/check.h"
#include "trace/error.h"

namespace nanhunt::bisect {
namespace {

constexpr int64_t kMostRuns = 100000;

[[noreturn]] void refuse(const std::string& what) {
  throw trace::Error(trace::ErrorKind::kUsage, what);
}

void check(const FailureRates& rates) {
  if (!(rates.bad_at_least > 0 && rates.bad_at_least <= 1)) {
    refuse("--fails-at-least is a share of runs, above 0 and at most 1");
  }
  if (!(rates.good_at_most >= 0 && rates.good_at_most < rates.bad_at_least)) {
    refuse("--good-fails-at-most is a share of runs, at least 0 and below --fails-at-least");
  }
  if (!(rates.error > 0 && rates.error < 0.5)) refuse("--error is above 0 and below 0.5");
  if (rates.max_runs < 0) refuse("--max-runs is negative");
}

[[noreturn]] void refuse_number_of_runs() {
  refuse("these rates and this error take more than " + std::to_string(kMostRuns) +
         " runs of one item");
}

// The smallest n with (1 - rate)^n <= error.
int64_t passes_needed(double rate, double error) {
  if (rate == 1) return 1;
  const double about = std::ceil(std::log(error) / std::log1p(-rate)) - 1;
  if (about > static_cast<double>(kMostRuns)) refuse_number_of_runs();
  int64_t passes = about > 1 ? static_cast<int64_t>(about) : 1;
  while (std::pow(1 - rate, static_cast<double>(passes)) > error) ++passes;
  return passes;
}

StoppingRule first_failure_rule(const FailureRates& rates) {
  const int64_t passes = passes_needed(rates.bad_at_least, rates.error);
  if (passes > kMostRuns) refuse_number_of_runs();
  if (rates.max_runs > 0 && rates.max_runs < passes) {
    refuse("--max-runs " + std::to_string(rates.max_runs) + " can call no item good: that takes " +
           std::to_string(passes) + " passes in a row");
  }
  StoppingRule rule{rates, std::vector<int64_t>(static_cast<size_t>(passes), 1),
                    std::vector<int64_t>(static_cast<size_t>(passes), -1)};
  rule.good_up_to.back() = 0;
  return rule;
}

using Binomial = boost::math::binomial_distribution<double>;

double at_least(int64_t runs, double rate, int64_t failures) {
  if (failures <= 0) return 1;
  return cdf(
      complement(Binomial(static_cast<double>(runs), rate), static_cast<double>(failures - 1)));
}

// The fewest failures that call an item bad after so many runs: where a good one has them with
// probability <= error, if a bad one then has fewer with probability <= error, too.
std::optional<int64_t> fixed_size_limit(const FailureRates& rates, int64_t runs, double error) {
  int64_t few = 0, many = runs + 1;  // P(>= few) > error >= P(>= many)
  while (many - few > 1) {
    const int64_t middle = few + (many - few) / 2;
    (at_least(runs, rates.good_at_most, middle) <= error ? many : few) = middle;
  }
  if (many > runs) return std::nullopt;
  const double missed =
      cdf(Binomial(static_cast<double>(runs), rates.bad_at_least), static_cast<double>(many - 1));
  return missed <= error ? std::optional(many) : std::nullopt;
}

// A number of runs at which the fixed-size test exists; the smallest but for the jags that whole
// numbers of failures make.
int64_t fixed_size(const FailureRates& rates, double error) {
  int64_t enough = 1;
  while (!fixed_size_limit(rates, enough, error)) {
    if (enough >= kMostRuns) refuse_number_of_runs();
    enough *= 2;
  }
  int64_t too_few = enough / 2;
  while (enough - too_few > 1) {
    const int64_t middle = too_few + (enough - too_few) / 2;
    (fixed_size_limit(rates, middle, error) ? enough : too_few) = middle;
  }
  if (enough > kMostRuns) refuse_number_of_runs();
  return enough;
}

// ln of the likelihood of bad over that of good.
double log_ratio(const FailureRates& rates, int64_t runs, int64_t failures) {
  const auto passes = static_cast<double>(runs - failures);
  const double of_failures =
      static_cast<double>(failures) * std::log(rates.bad_at_least / rates.good_at_most);
  // A bad item that always fails has no likelihood of a pass: 0 passes times -Inf is no number.
  if (passes == 0) return of_failures;
  return of_failures + passes * (std::log1p(-rates.bad_at_least) - std::log1p(-rates.good_at_most));
}

StoppingRule sequential_rule(const FailureRates& rates) {
  const double half = rates.error / 2;
  const double limit = -std::log(half);
  const int64_t size = fixed_size(rates, half);
  const bool whole = rates.max_runs == 0 || rates.max_runs >= size;
  const int64_t runs = whole ? size : rates.max_runs;
  StoppingRule rule{rates, {}, {}};
  int64_t bad = 0, good = -1;  // both only grow with the number of runs
  for (int64_t n = 1; n <= runs; ++n) {
    while (bad <= n && log_ratio(rates, n, bad) < limit) ++bad;
    while (good + 1 <= n && log_ratio(rates, n, good + 1) <= -limit) ++good;
    rule.bad_from.push_back(bad);
    rule.good_up_to.push_back(good);
  }
  if (whole) {
    const int64_t fixed = *fixed_size_limit(rates, size, half);
    rule.bad_from.back() = std::min(bad, std::max(fixed, good + 1));
    rule.good_up_to.back() = rule.bad_from.back() - 1;
  }
  return rule;
}

}  // namespace

StoppingRule stopping_rule(const FailureRates& rates) {
  check(rates);
  return rates.good_at_most > 0 ? sequential_rule(rates) : first_failure_rule(rates);
}

Decision decide(const StoppingRule& rule, int64_t passes, int64_t failures) {
  const int64_t runs = passes + failures;
  if (runs == 0) return Decision::kRunAgain;
  NANHUNT_CHECK(runs <= rule.most_runs());
  const auto at = static_cast<size_t>(runs - 1);
  if (failures >= rule.bad_from[at]) return Decision::kBad;
  if (failures <= rule.good_up_to[at]) return Decision::kGood;
  return runs == rule.most_runs() ? Decision::kUndecided : Decision::kRunAgain;
}

Behaviour behaviour(const StoppingRule& rule, double failure_rate) {
  Behaviour result;
  std::vector<double> running = {1};  // probability of still running with [i] + `fewest` failures
  int64_t fewest = 0;
  for (int64_t n = 1; n <= rule.most_runs() && !running.empty(); ++n) {
    std::vector<double> after(running.size() + 1, 0.0);
    for (size_t i = 0; i < running.size(); ++i) {
      result.runs += running[i];
      after[i] += running[i] * (1 - failure_rate);
      after[i + 1] += running[i] * failure_rate;
    }
    const int64_t base = fewest;
    running.clear();
    for (size_t i = 0; i < after.size(); ++i) {
      const int64_t failures = base + static_cast<int64_t>(i);
      switch (decide(rule, n - failures, failures)) {
        case Decision::kGood:
          result.good += after[i];
          break;
        case Decision::kBad:
          result.bad += after[i];
          break;
        case Decision::kUndecided:
          result.undecided += after[i];
          break;
        case Decision::kRunAgain:
          if (running.empty()) fewest = failures;
          running.push_back(after[i]);
          break;
      }
    }
  }
  return result;
}

}  // namespace nanhunt::bisect
