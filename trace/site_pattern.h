// SPDX-License-Identifier: Apache-2.0
// Patterns of dotted names beside match_site (rules_file.h): counting their stars and filling their
// captures into a target name.
#pragma once

#include <string>
#include <vector>

namespace nanhunt::trace {

// Stars of the pattern, each "*" or "**" once.
size_t count_stars(const std::string& pattern);
// "" when each $n of the target names one of `stars` captures, else what is wrong.
std::string target_fault(const std::string& target, size_t stars);
// The target with $1, $2, ... replaced. A component that becomes empty ("**" matched nothing) goes
// away with its dot.
std::string fill_target(const std::string& target, const std::vector<std::string>& captures);

}  // namespace nanhunt::trace
