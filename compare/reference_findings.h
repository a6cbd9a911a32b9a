// SPDX-License-Identifier: Apache-2.0
// Findings that need the reference: one for each logical tensor that is out, naming the ranks whose
// own part is out; and the reference as decider between copies that differ.
#pragma once

#include "compare/deviations.h"

namespace nanhunt::compare {

inline constexpr const char* kReferenceEnvelope = "reference_envelope";
inline constexpr const char* kInitialState = "initial_state";
inline constexpr const char* kSameData = "same_data";
inline constexpr const char* kSameBits = "same_bits";

bool needs_reference(const std::string& rule);

// Sets candidate.judged and adds the findings.
void add_reference_findings(SideStep& candidate, const SideStep& reference, const Judge& judge,
                            const Comparisons& comparisons);

// The finding of one pair about these records (all of the candidate's).
oracle::Finding finding_of(const SideStep& candidate, const Comparison& pair,
                           const std::vector<int>& records);

}  // namespace nanhunt::compare
