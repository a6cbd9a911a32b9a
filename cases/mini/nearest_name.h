// SPDX-License-Identifier: Apache-2.0
// The name that a mistyped one was probably meant to be.
#pragma once

#include <string>
#include <vector>

namespace nanhunt::mini {

// Fewest inserted, deleted or changed characters (Levenshtein); the first of equals; "" of none.
std::string nearest_name(const std::string& name, const std::vector<std::string>& known);

}  // namespace nanhunt::mini
