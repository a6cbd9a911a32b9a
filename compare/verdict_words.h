// SPDX-License-Identifier: Apache-2.0
// The words of a verdict's text, for whatever else shows a verdict.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "compare/verdict.h"

namespace nanhunt::compare {

std::string headline(const Verdict& verdict);                 // "divergence, blame candidate"
std::string place_text(const oracle::Finding& finding);       // site, phase, role, step, microbatch
std::string ranks_text(const oracle::Finding& finding);       // "ranks 0 1"
std::string rule_text(const oracle::Finding& finding);        // rule, severity, measured, allowed
std::string inputs_text(const Origin& origin);                // "within: ..."
std::vector<std::string> origin_lines(const Origin& origin);  // what is known beside the rule
std::string toggles_text(const Cause& cause);  // "parallel.tp layout.sp, confirmed both ways"
// The lists of a coverage with their titles, empty ones left out.
std::vector<std::pair<std::string, std::vector<std::string>>> coverage_lists(
    const Coverage& coverage);

}  // namespace nanhunt::compare
