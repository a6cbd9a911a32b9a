// SPDX-License-Identifier: Apache-2.0
// The runs of a plan (paired_plan.h), and the loss curves that they leave. Capture: statistics of
// the phase loss alone.
#pragma once

#include <filesystem>
#include <vector>

#include "ablate/bench.h"
#include "repro/convergence.h"
#include "repro/paired_plan.h"

namespace nanhunt::repro {

struct PairedCurves {
  std::filesystem::path folder;  // of the curves' files, inside the work folder
  std::vector<CurvePair> pairs, same;
};

// Runs them, `jobs` at a time, and writes each curve as JSON lines. Throws Error(kUnreadable) when
// a run fails or its trace does not hold the loss of every step.
PairedCurves run_pairs(ablate::Bench& bench, const PairedPlan& plan);

}  // namespace nanhunt::repro
