// SPDX-License-Identifier: Apache-2.0
// Plants the drawn fault of a bundled case into the runs of its subject. The fault is written to a
// side file, and the environment that names this file is all that comes back: commands hand it on
// to their children and know nothing else, so that no analysis can learn of a fault from here.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

namespace nanhunt::cli {

// Environment for the children; empty when the case plants nothing. The side file lies in `work`
// and is named by a hash of what it says, so that runs of another draw are not taken for these.
// Throws Error(kUsage) with file and line, Error(kInternal) when the file cannot be written.
std::map<std::string, std::string> plant(const std::filesystem::path& case_file, uint64_t seed,
                                         const std::filesystem::path& work);

}  // namespace nanhunt::cli
