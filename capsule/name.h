// SPDX-License-Identifier: Apache-2.0
// How a user names one capsule: FOLDER, its newest whole one, or FOLDER@STEP.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace nanhunt::capsule {

struct Name {
  std::filesystem::path folder;
  int64_t step = -1;  // -1: the newest whole one
};

// What follows the last @ is the step, unless something of the whole name is there. Throws
// Error(kUsage) when it is no number.
Name parse_name(const std::string& text);

}  // namespace nanhunt::capsule
