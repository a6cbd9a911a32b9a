// SPDX-License-Identifier: Apache-2.0
// Parts of a page, as text.
#pragma once

#include <string>

namespace nanhunt::report::test {

std::string escaped(const std::string& text);  // as in HTML
// Without what is embedded: the style and the scripts hold words of their own.
std::string shown(const std::string& html);
// From that section's start to its end.
std::string section(const std::string& html, const std::string& id);

}  // namespace nanhunt::report::test
