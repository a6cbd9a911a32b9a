// SPDX-License-Identifier: Apache-2.0
// The whole hunt: run both sides, calibrate, compare; look again in full around the first bad;
// ablate. Where the subject tells its failure itself there is nothing to compare: run both sides
// and ablate. Everything lies in the work folder: runs, envelopes, ledger and verdict.json.
#pragma once

#include <vector>

#include "ablate/explain.h"

namespace nanhunt::ablate {

struct HuntOptions {
  int jobs = 2;  // children at a time
  bool ablate = true;
  std::string case_name;  // as the user would write it, for the next command
};

struct Hunt {
  compare::Verdict verdict;
  Run candidate, reference;  // the pair whose verdict counts
  Scope scope;
  std::vector<TrialRow> trials;
};

// Throws Error: a side that could not run at all, or left no trace to compare.
Hunt hunt(Bench& bench, const HuntOptions& options);

// Lines that say what a hunt will cost at most, before it starts.
std::vector<std::string> price(const Case& the_case, const BenchOptions& options,
                               double seconds_per_run, int jobs);

}  // namespace nanhunt::ablate
