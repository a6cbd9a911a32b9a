// SPDX-License-Identifier: Apache-2.0
// Words as one line for a POSIX shell, which reads the same words from it: commands that are shown
// to be pasted.
#pragma once

#include <string>
#include <vector>

namespace nanhunt::ablate {

std::string quoted(const std::string& word);
std::string quoted(const std::vector<std::string>& words);

}  // namespace nanhunt::ablate
