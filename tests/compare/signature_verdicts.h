// SPDX-License-Identifier: Apache-2.0
// Verdicts of a small model, or of traces made by hand, as tests of signatures need them.
#pragma once

#include <string>

#include "compare/verdict.h"
#include "tests/compare/small_model.h"

namespace nanhunt::compare::test {

inline constexpr double kHealthy = 1e-3;

bool at(const Tap& tap, const std::string& site, trace::Phase phase = trace::Phase::kForward,
        const std::string& role = "output");

// The verdict of a comparison with a healthy reference; with values when they go through files.
Verdict verdict_of(const TraceBuilder& candidate, const TraceBuilder& reference, bool values,
                   double healthy = kHealthy);
// The same of the small model on tp ranks, with the edit, against its healthy self on one.
Verdict verdict_of(const Edit& edit, bool values = false, int tp = 2);
// Without a reference, through files.
Verdict scan_with_values(const TraceBuilder& builder);

// Of the leading origin, and of the first at that site; "no origin" where there is none.
std::string signature_of(const Verdict& verdict);
std::string signature_at(const std::string& site, const Verdict& verdict);

}  // namespace nanhunt::compare::test
