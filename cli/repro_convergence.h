// SPDX-License-Identifier: Apache-2.0
// The convergence level of `nanhunt repro`: it judges curves that are there already
// (repro/convergence.h).
#pragma once

#include <string>
#include <vector>

namespace nanhunt::cli {

// Whether --pair or --plan is among the arguments.
bool wants_convergence(const std::vector<std::string>& arguments);

// Prints the result, or the plan; the exit status. Throws trace::Error.
int repro_convergence(const std::vector<std::string>& arguments);

}  // namespace nanhunt::cli
