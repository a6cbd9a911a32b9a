// SPDX-License-Identifier: Apache-2.0
// Run against run: two runs that are meant to be the same one. In the layout of each the state that
// they start from, and every tensor after it, rank by rank; a failure that both have alike is no
// difference between them.
#pragma once

#include <filesystem>

#include "ablate/bench.h"
#include "repro/report.h"

namespace nanhunt::repro {

// The case's failing side, twice. A subject that saves no capsules is judged at level replay alone.
Report run_and_run(ablate::Bench& bench, const oracle::Thresholds& thresholds);

// Two traces that are there already; nothing is run. Each is the folder of a trace, or of a run
// that holds it as `trace`; capsules are looked for in it as `capsules`. State: the newest capsule
// step of both that is not after the first captured step of both. Replay: rank by rank where the
// meshes are the same; else by rules and equality of logical tensors, and where these differ it
// stays unknown, as no envelope is there. Configurations that differ are told, not judged.
// Throws Error(kUnreadable), and Error(kUsage) where both are one folder.
Report trace_and_trace(const std::filesystem::path& a, const std::filesystem::path& b,
                       const oracle::Thresholds& thresholds);

}  // namespace nanhunt::repro
