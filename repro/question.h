// SPDX-License-Identifier: Apache-2.0
// The questions that `nanhunt repro CASE` answers, by name: each compares runs of the case's
// subject at the levels state and replay, and at level convergence where runs of several seeds
// are planned.
#pragma once

#include <cstdint>
#include <optional>

#include "ablate/bench.h"
#include "repro/paired_plan.h"
#include "repro/report.h"

namespace nanhunt::repro {

// `at`: step at which a state is saved; without it half the case's steps. Errors as of the question
// asked (case_report.h, run_pair.h, upgrade.h).
// A plan of runs of several seeds is for resume and layouts; Error(kUsage) with another question.
Report answer(ablate::Question question, ablate::Bench& bench, const oracle::Thresholds& thresholds,
              std::optional<int64_t> at = std::nullopt,
              const std::optional<PairedPlan>& plan = std::nullopt);

}  // namespace nanhunt::repro
