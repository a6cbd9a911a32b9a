// SPDX-License-Identifier: Apache-2.0
// What `nanhunt repro` concludes: one entry a level, each with what was looked at, the threshold
// that was fixed before, the evidence, and what the verdict means for the other levels. A verdict
// without the files that show it and the command that made them is refused.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "capsule/kinds.h"
#include "repro/convergence.h"

namespace nanhunt::repro {

enum class LevelVerdict {
  kEqual,   // bit for bit
  kWithin,  // inside the envelope or the margin that was fixed before
  kDifferent,
  kUnknown,    // what was seen decides nothing
  kNotJudged,  // not asked for, or not possible: `evidence` says why
};

struct LevelReport {
  capsule::Level level = capsule::Level::kState;
  std::string observable;
  std::string threshold;
  LevelVerdict verdict = LevelVerdict::kNotJudged;
  std::vector<std::string> evidence;
  std::vector<std::filesystem::path> artifacts;
  std::vector<std::string> commands;
  std::optional<Convergence> convergence = {};  // of the level of that name, where it was judged
  // What of the level this is about, where a report asks more than one question: "names". "" is the
  // level itself, that of the report's question.
  std::string part = {};
  // Kinds of state that the verdict is of, where it is not of all that a step starts from.
  std::vector<std::string> of = {};
};

struct Report {
  std::string question;  // "save at step 2 and resume, against the straight run"
  std::vector<LevelReport> levels;
  std::string thresholds_sha256;
};

std::string_view name_of(LevelVerdict verdict);  // "equal", "within", "different", ...
// What the levels' verdicts together say about each other; one line a level. "" where they say
// nothing.
std::string implication(const Report& report, capsule::Level level);
// The same of an entry: a part implies what its evidence says, and "" beside it.
std::string implication(const Report& report, const LevelReport& level);
std::string title_of(const LevelReport& level);  // "state", "state, names"
std::string verdict_text(const LevelReport& level);  // "equal (of the parameters, moments)"
// Exit status: 1 when a level is different, 125 when one is unknown, else 0.
int exit_status(const Report& report);

// Both throw Error(kInternal) for a verdict without artifact or command, or whose artifact is gone.
nlohmann::json to_json(const Report& report);
std::string to_text(const Report& report);

// The block at the end of the text, ready for a ticket: each level's verdict with its first
// evidence. Asks for no artifact.
std::string ticket(const Report& report);
std::string headline(const Report& report);  // "state different, replay not judged"
// Throws Error(kUnreadable): not what to_json wrote, or another schema. Artifacts may be gone: the
// reader may sit elsewhere.
Report report_from_json(const nlohmann::json& json);

}  // namespace nanhunt::repro
