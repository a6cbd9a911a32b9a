// SPDX-License-Identifier: Apache-2.0
// Options of `nanhunt repro CASE` for the convergence level: how many seeds, judged by what. What
// the command line does not say stands in the case's section [convergence] (docs/repro.md).
#pragma once

#include <boost/program_options/options_description.hpp>
#include <cstdint>
#include <optional>

#include "ablate/case_file.h"
#include "cli/options.h"
#include "repro/paired_plan.h"

namespace nanhunt::cli {

// --seeds --same --curve-steps --loss-site, and what criteria are made of.
boost::program_options::options_description paired_options();

// Writes what the command line says over what the case file says.
void set_convergence(const Parsed& parsed, ablate::ConvergenceKeys& keys);

// The plan of the case; nullopt where it asks for no seeds. `at`: where runs are resumed, half of
// their steps without it. Throws Error(kUsage), also where the plan is not possible.
std::optional<repro::PairedPlan> paired_plan(const ablate::Case& the_case,
                                             const std::optional<int64_t>& at, int jobs);
// The same with level and parts of the curve as the command line has them.
std::optional<repro::PairedPlan> paired_plan(const ablate::Case& the_case, const Parsed& parsed,
                                             int jobs);

}  // namespace nanhunt::cli
