// SPDX-License-Identifier: Apache-2.0
// From one trace, or two, to a verdict.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compare/verdict.h"
#include "oracle/envelope.h"
#include "oracle/thresholds.h"
#include "trace/rules_file.h"
#include "trace/trace_reader.h"

namespace nanhunt::compare {

struct JudgeOptions {
  const oracle::Envelope* envelope = nullptr;  // nullptr: exact rules, and deviations stay unjudged
  bool same_layout = false;  // rank by rank, bit differences first, no placements needed
  // Rules that need no reference, on both sides. false: the distance between the two is all that
  // counts, and a failure that both have alike is none.
  bool own_rules = true;
  const trace::RulesFile* rules = nullptr;  // applied to the reference
  bool replay = true;  // ops captured in full are computed again; most of the time, where they are
  std::vector<std::string> intended;  // keys of semantic changes ("gelu.tanh") that are meant
  bool exploratory = false;
  std::function<void(const std::string&)> progress;  // a line for stderr; may be empty
};

// Rules that need no reference, on one trace.
Verdict scan(const trace::TraceReader& trace, const oracle::Thresholds& thresholds,
             const JudgeOptions& options = {});
// Both traces: rules on each side, then the logical tensors against each other inside the envelope.
Verdict compare_traces(const trace::TraceReader& candidate, const trace::TraceReader& reference,
                       const oracle::Thresholds& thresholds, const JudgeOptions& options = {});

// Sites around the leading origin (and its linked inputs) that a second capture should take in
// full, as patterns; empty when nothing would be learnt.
std::vector<std::string> zoom_sites(const trace::TraceReader& trace, const Verdict& verdict);

// Names of the phases in which that capture should take them: what comes after the leading origin
// in its step tells nothing about it. What an earlier step left may: then all.
std::vector<std::string> zoom_phases(const trace::TraceReader& trace, const Verdict& verdict);

// Same failure: same kind of verdict and same logical site family, ranks mapped through the layout.
bool same_failure(const Verdict& a, const Verdict& b);

}  // namespace nanhunt::compare
