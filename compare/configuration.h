// SPDX-License-Identifier: Apache-2.0
// The effective configurations of two runs held against each other, from what their traces say:
// world size, mesh, versions, flags and environment of rank 0, and storage types by phase and role.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compare/side_step.h"
#include "compare/verdict.h"

namespace nanhunt::compare {

// Setting -> value: what a trace says of its own run.
std::map<std::string, std::string> effective_configuration(const SideStep& side);

std::vector<ConfigDifference> configuration_differences(const SideStep& candidate,
                                                        const SideStep& reference);

}  // namespace nanhunt::compare
