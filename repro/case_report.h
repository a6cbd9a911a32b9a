// SPDX-License-Identifier: Apache-2.0
// The report on a case: runs of its subject that save capsules and go on from them, judged at the
// levels state and step replay; at level convergence too where runs of several seeds are planned.
#pragma once

#include <cstdint>
#include <optional>

#include "ablate/bench.h"
#include "repro/paired_plan.h"
#include "repro/report.h"

namespace nanhunt::repro {

// Saves at step `at` of the case's failing side and resumes there: the same state, and the same
// steps after it, as in the straight run? 0 < at < steps of the case.
Report save_and_resume(ablate::Bench& bench, const oracle::Thresholds& thresholds, int64_t at,
                       const std::optional<PairedPlan>& plan = std::nullopt);

// The capsule that the failing side saves at `at` is loaded by the layout of the reference side:
// the same logical state, and the same steps after it inside the envelope? The toggles that are no
// layout differ, too, where the case has such. With a plan, a subject that cannot save its state is
// judged by its curves alone.
Report layout_and_layout(ablate::Bench& bench, const oracle::Thresholds& thresholds, int64_t at,
                         const std::optional<PairedPlan>& plan = std::nullopt);

}  // namespace nanhunt::repro
