// SPDX-License-Identifier: Apache-2.0
// Level state of a report: two states, of capsules or of checkpoints of other programs.
#pragma once

#include <filesystem>
#include <string>

#include "oracle/thresholds.h"
#include "repro/report.h"
#include "repro/state_level.h"

namespace nanhunt::repro {

// Before anything was compared; names as the user writes them.
LevelReport empty_state_level(const std::filesystem::path& a, const std::string& name_of_a,
                              const std::filesystem::path& b, const std::string& name_of_b);
void judge_state(LevelReport& level, const StateComparison& comparison);

// The two states only, with what was not compared and which levels that leaves open, and what else
// the two folders say about their runs (loss history, configuration).
Report state_and_state(const State& a, const State& b, const oracle::Thresholds& thresholds);

}  // namespace nanhunt::repro
