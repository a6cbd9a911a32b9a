// SPDX-License-Identifier: Apache-2.0
// A result as `nanhunt run`, `ablate`, `compare` and `scan` of a trace leave it.
#pragma once

#include <filesystem>
#include <vector>

#include "ablate/explain.h"
#include "compare/verdict.h"

namespace nanhunt::report {

struct Result {
  std::filesystem::path file;  // the JSON
  compare::Verdict verdict;
  std::vector<ablate::TrialRow> trials;  // empty without an ablation
};

// `path`: a work folder with verdict.json in it, or a JSON file: that one, or what --json printed.
// Throws Error(kUnreadable): missing, no result, or of another schema.
Result read_result(const std::filesystem::path& path);

}  // namespace nanhunt::report
