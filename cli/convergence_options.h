// SPDX-License-Identifier: Apache-2.0
// Options of `nanhunt repro` at the convergence level (docs/convergence.md).
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "cli/options.h"
#include "repro/criteria.h"

namespace nanhunt::cli {

boost::program_options::options_description convergence_options();
// Those of them that criteria are made of: --margin --metrics --alpha --early --late.
boost::program_options::options_description criteria_options();

// "A=B" cut in two. Paths may hold "=" themselves: of several places to cut, the one between two
// files that exist counts. Throws Error(kUsage) where there is none, or no telling.
std::pair<std::filesystem::path, std::filesystem::path> split_pair(const std::string& option,
                                                                   const std::string& text);

// From --margin, --metrics, --alpha, --early, --late and the names of columns. Throws
// Error(kUsage).
repro::Criteria read_criteria(const Parsed& parsed);
// A margin without a metric is that of all losses, or of those that `metrics` names; one with a
// metric replaces it there. `quality`: a column is named for it. Throws Error(kUsage).
std::vector<repro::Criterion> criteria_of(const std::vector<std::string>& margins,
                                          const std::vector<std::string>& metrics, bool quality);
// --alpha, --early and --late alone.
repro::Criteria parts_of(const Parsed& parsed);

// The words of a list option, none where it is not set.
std::vector<std::string> words_of(const Parsed& parsed, const std::string& option);

}  // namespace nanhunt::cli
