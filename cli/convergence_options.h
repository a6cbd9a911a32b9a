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

// "A=B" cut in two. Paths may hold "=" themselves: of several places to cut, the one between two
// files that exist counts. Throws Error(kUsage) where there is none, or no telling.
std::pair<std::filesystem::path, std::filesystem::path> split_pair(const std::string& option,
                                                                   const std::string& text);

// From --margin, --alpha, --early, --late and the names of columns. A margin without a metric is
// that of all losses, one with a metric replaces it there. Throws Error(kUsage).
repro::Criteria read_criteria(const Parsed& parsed);

// The words of a list option, none where it is not set.
std::vector<std::string> words_of(const Parsed& parsed, const std::string& option);

}  // namespace nanhunt::cli
