// SPDX-License-Identifier: Apache-2.0
// Runs of a case's subject for a report: captured in full from a step on, with capsules before that
// step and at the end.
#pragma once

#include <cstdint>
#include <string>

#include "ablate/bench.h"
#include "repro/report.h"

namespace nanhunt::repro {

// Throws Error(kUsage) unless 0 < at < steps of the case.
void check_step(const ablate::Bench& bench, int64_t at);
// The step that runs of the case start at.
int64_t first_step(const ablate::Case& the_case);
ablate::Scope full_scope(const ablate::Bench& bench, int64_t at);
// Throws Error(kUnreadable) with the run's complaint when it did not end well.
ablate::Run run(ablate::Bench& bench, const std::string& purpose, const ablate::Settings& settings,
                const ablate::Scope& scope, int32_t again = 0);

// Logical tensors of two runs in any layouts, inside the envelope of the reference side.
void judge_envelope(LevelReport& level, ablate::Bench& bench, const ablate::Run& candidate,
                    const ablate::Run& reference, const ablate::Scope& scope);

}  // namespace nanhunt::repro
