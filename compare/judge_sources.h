// SPDX-License-Identifier: Apache-2.0
// judge.h for any source of steps: trace folders, or steps in memory (adapters, tests).
#pragma once

#include "compare/judge.h"
#include "compare/trace_source.h"

namespace nanhunt::compare {

// reference == nullptr: rules alone.
Verdict judge_sources(const TraceSource& candidate, const TraceSource* reference,
                      const oracle::Thresholds& thresholds, const JudgeOptions& options);

}  // namespace nanhunt::compare
