// SPDX-License-Identifier: Apache-2.0
// A result as a command left it, read from its JSON.
#pragma once

#include <filesystem>
#include <optional>
#include <variant>
#include <vector>

#include "ablate/explain.h"
#include "compare/verdict.h"
#include "repro/convergence.h"
#include "repro/report.h"

namespace nanhunt::report {

// Of `nanhunt run`, `ablate`, `compare` and `scan` of a trace.
struct HuntResult {
  compare::Verdict verdict;
  std::vector<ablate::TrialRow> trials;  // empty without an ablation
};

// Of `nanhunt repro` on a case or on two capsules.
struct LevelResult {
  repro::Report report;
  std::optional<repro::Convergence> convergence;  // where seeds were run, too
};

// The last: of `nanhunt repro --pair A=B ...`.
using Content = std::variant<HuntResult, LevelResult, repro::Convergence>;

struct Result {
  std::filesystem::path file;  // the JSON
  Content content;
};

// `path`: a work folder with verdict.json in it, or a JSON file: that one, or what --json printed.
// Throws Error(kUnreadable): missing, no result, or of another schema.
Result read_result(const std::filesystem::path& path);

}  // namespace nanhunt::report
