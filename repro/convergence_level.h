// SPDX-License-Identifier: Apache-2.0
// Level convergence of a report on a case.
#pragma once

#include <string>

#include "repro/paired_runs.h"
#include "repro/report.h"

namespace nanhunt::repro {

// Makes the runs of the plan, which must be possible, and judges their curves. Runs that fail, or
// A/A pairs that show no spread, leave the level unknown, with the reason as evidence.
LevelReport convergence_level(ablate::Bench& bench, const PairedPlan& plan);

inline constexpr const char* kNeedsSeeds =
    "needs runs of several seeds: nanhunt repro --pair A=B ... --margin M";
LevelReport convergence_not_judged(const std::string& why);

// The level of curves that were judged; `command` judges them again.
LevelReport level_of(const Convergence& result, const std::string& command);

// `nanhunt repro --margin ... --pair A=B ...`: gives this judgement of these files again.
std::string pair_command(const Criteria& criteria, const PairedCurves& curves);

}  // namespace nanhunt::repro
