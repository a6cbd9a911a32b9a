// SPDX-License-Identifier: Apache-2.0
// The levels of a report as they are set out, and what capsules and traces that are there already
// say about them. A is the side that is relied on (it saved, it ran straight, it is the reference),
// B the one that is asked about, the candidate of comparisons.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "compare/verdict.h"
#include "oracle/thresholds.h"
#include "repro/report.h"
#include "repro/state_level.h"
#include "trace/trace_reader.h"

namespace nanhunt::repro {

// One capsule.
struct At {
  std::filesystem::path folder;
  int64_t step = 0;

  std::string text() const;  // FOLDER@STEP
};

// Throws Error(kUnreadable) as compare_state does.
StateComparison compare_capsules(const At& a, const At& b);

// Set out, not judged yet.
LevelReport state_level(const At& a, const At& b);
LevelReport replay_level(const std::filesystem::path& candidate,
                         const std::filesystem::path& reference, int64_t first_step,
                         int64_t last_step);

// The traces rank by rank, in one layout: what differs between them, and nothing else. A failure
// that both have alike is none of it.
compare::Verdict compare_bits(const trace::TraceReader& candidate,
                              const trace::TraceReader& reference,
                              const oracle::Thresholds& thresholds);
void judge_bits(LevelReport& level, const compare::Verdict& bits);
void judge_bits(LevelReport& level, const std::filesystem::path& candidate,
                const std::filesystem::path& reference, const oracle::Thresholds& thresholds);
// The state that the steps left: it counts against the level what was equal at their start.
void judge_end(LevelReport& level, const StateComparison& start, const StateComparison& end);
// Of one world and one mesh: ranks can be held against each other.
bool same_mesh(const trace::TraceReader& a, const trace::TraceReader& b);
// By a verdict on the two traces; `clean` is what a clean one means for the level. What the
// reference breaks by itself, alone or together with the candidate, decides nothing between them.
void conclude(LevelReport& level, const compare::Verdict& verdict, LevelVerdict clean);

// A state whose own ranks disagree is refused by whoever would load it: that is the finding, the
// report without further runs. nullopt when they agree.
std::optional<Report> contradiction_report(Report report, const At& saved);

}  // namespace nanhunt::repro
