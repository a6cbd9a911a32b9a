// SPDX-License-Identifier: Apache-2.0
// SHA-256 of a text, as 64 lower-case hexadecimal digits: what thresholds are registered by.
#pragma once

#include <string>
#include <string_view>

namespace nanhunt::oracle {

std::string sha256(std::string_view text);

}  // namespace nanhunt::oracle
