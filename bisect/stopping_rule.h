// SPDX-License-Identifier: Apache-2.0
// How many runs decide one item when failures are flaky. A rule is a table: after n runs of which f
// failed the item is bad when f >= bad_from[n - 1], good when f <= good_up_to[n - 1], and is run
// again otherwise; beyond the table it stays undecided. Wrong decisions are bounded for *every*
// item that fails in at least `bad_at_least` of its runs (bad) or at most `good_at_most` (good),
// runs independent: more failures only move an item towards bad, so the bounds are worst at the
// two rates themselves.
//
// good_at_most = 0: one failure is bad; good after n passes with (1 - bad_at_least)^n <= error.
// good_at_most > 0: Wald's sequential probability ratio test with limits +-ln(2 / error), which by
// Ville's inequality is wrong with probability <= error / 2, cut at the size where a fixed-size
// binomial test is wrong with probability <= error / 2 on both sides; that one decides there.
#pragma once

#include <cstdint>
#include <vector>

namespace nanhunt::bisect {

struct FailureRates {
  double bad_at_least = 1;  // share of runs in which a bad item fails, (0, 1]
  double good_at_most = 0;  // and a good one, [0, bad_at_least)
  double error = 1e-5;      // that one decision is wrong, (0, 0.5)
  int64_t max_runs = 0;     // of one item; 0: as many as the rule needs
};

struct StoppingRule {
  FailureRates rates;
  std::vector<int64_t> bad_from;    // [n - 1]
  std::vector<int64_t> good_up_to;  // [n - 1]; -1: no number of failures is few enough

  int64_t most_runs() const { return static_cast<int64_t>(bad_from.size()); }
  // With its budget used up an item may still be undecided.
  bool may_leave_undecided() const { return bad_from.back() > good_up_to.back() + 1; }
  // Each item ends always in the same way, and one run decides.
  bool deterministic() const { return rates.bad_at_least == 1 && rates.good_at_most == 0; }
};

enum class Decision { kRunAgain, kGood, kBad, kUndecided };

// What a rule does with an item that fails at some rate. FP64, summed in the order of runs.
struct Behaviour {
  double good = 0, bad = 0, undecided = 0;  // probabilities
  double runs = 0;                          // expected number
};

// Throws Error(kUsage): rates out of range, a budget that can call nothing good, or more than
// 100000 runs of one item.
StoppingRule stopping_rule(const FailureRates& rates);
Decision decide(const StoppingRule& rule, int64_t passes, int64_t failures);
Behaviour behaviour(const StoppingRule& rule, double failure_rate);

}  // namespace nanhunt::bisect
