// SPDX-License-Identifier: Apache-2.0
// The plan of runs of several seeds of a case, in pairs: what the convergence level of a case is
// judged by (docs/repro.md).
//
//   kResume   A: straight runs of the failing side. B: runs that go on from the capsule that A
//             saved at `at`. The curves are of the steps from there on.
//   kLayouts  A: runs of the reference side, B: of the failing side, whole.
//
// A/A pairs: side A as it is, and with each initial parameter moved by one ulp
// (trace::Perturbation), on seeds that no pair has: the margin must not come from what it judges.
// Seeds count from the case's own value of the parameter that the subject names as its seed: pairs
// first, then A/A pairs.
#pragma once

#include <cstdint>
#include <string>

#include "ablate/case_file.h"
#include "repro/criteria.h"

namespace nanhunt::repro {

enum class Pairing { kResume, kLayouts };

struct PairedPlan {
  Pairing pairing = Pairing::kResume;
  Criteria criteria;
  int seeds = 0;      // pairs that are judged
  int same = 0;       // A/A pairs; 0 where no margin counts their deviation
  int64_t steps = 0;  // each run ends there
  int64_t at = 0;     // kResume: where B begins
  std::string loss;   // site of the loss; "": the only one
  int jobs = 1;       // runs at a time
  std::string again;  // the command that makes these runs
};

// Whether a margin counts standard deviations, and so needs A/A pairs.
bool counts_deviation(const Criteria& criteria);
// The seed of the first pair. Throws Error(kUsage) where the case's own is no whole number.
int64_t first_seed(const ablate::Case& the_case);

// Throws Error(kUsage): a subject without a seed or, for kResume, without capsules; fewer than two
// pairs; A/A pairs too few for a margin of their deviation; steps that do not hold `at`.
void require_possible(const ablate::Case& the_case, const PairedPlan& plan);

// "5 pairs (seeds 1 to 5) and 8 A/A pairs (seeds 6 to 13) of 32 steps: 26 runs", with the power of
// so many pairs where the margin counts deviations. Of a plan that is possible.
std::string price_text(const ablate::Case& the_case, const PairedPlan& plan);

}  // namespace nanhunt::repro
