// SPDX-License-Identifier: Apache-2.0
// The traces that `nanhunt golden` is about: those that were named, or new runs of a case's failing
// side. Each run has a folder of its own, WORK/golden/run-K, since one that ended is not repeated
// in the same.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/case_options.h"

namespace nanhunt::cli {

struct GoldenRuns {
  std::vector<std::filesystem::path> traces;
  oracle::Thresholds thresholds;  // of the case; else the installed ones, or --thresholds
  bool from_case = false;
};

// `given`: folders, or one case. Throws Error(kUsage), Error(kUnreadable) when a run left no trace;
// with `runs` > 1 also when one did not end well.
GoldenRuns golden_runs(Parsed& parsed, const std::vector<std::string>& given, int runs);

}  // namespace nanhunt::cli
