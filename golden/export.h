// SPDX-License-Identifier: Apache-2.0
// From the traces of healthy runs to what is expected of a later one (golden.h).
#pragma once

#include <vector>

#include "compare/trace_source.h"
#include "golden/golden.h"

namespace nanhunt::golden {

struct ExportOptions {
  // The user's word that the program repeats to the bit: one run alone then makes class `bit`.
  bool deterministic = false;
};

// Runs of one layout make one table. Memory: one step of all runs at a time. Throws Error(kUsage):
// no run; runs with other steps; Error(kUnreadable): a run in which a rank did not come to the end
// of a step, or that has no record.
Golden export_runs(const std::vector<compare::TraceSource>& runs,
                   const oracle::Thresholds& thresholds, const ExportOptions& options);

}  // namespace nanhunt::golden
