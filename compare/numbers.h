// SPDX-License-Identifier: Apache-2.0
// Numbers and lists as a person reads them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace nanhunt::compare {

std::string short_number(double value);                    // "%.4g"; "NaN", "Inf", "-Inf"
std::string list_of(const std::vector<int32_t>& numbers);  // "0 1 5"
std::string join(const std::vector<std::string>& parts, const std::string& between);

}  // namespace nanhunt::compare
