// SPDX-License-Identifier: Apache-2.0
// The known name that a mistyped one was probably meant to be.
#pragma once

#include <string>
#include <vector>

namespace nanhunt::ablate {

// Fewest inserted, deleted or changed characters; the first of equals; "" when none of the known
// names shares more than half of its letters with it.
std::string nearest(const std::string& name, const std::vector<std::string>& known);
// "; did you mean 'X'?", or "" when nothing is near.
std::string did_you_mean(const std::string& name, const std::vector<std::string>& known);

}  // namespace nanhunt::ablate
