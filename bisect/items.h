// SPDX-License-Identifier: Apache-2.0
// The ordered list that is searched: from a file, or a range of numbers. (Commits: commits.h.)
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace nanhunt::bisect {

struct Item {
  std::string name;   // what stands for {item}; no two items of a list have the same
  std::string label;  // more about it, for messages: the subject of a commit; may be ""
};
using Items = std::vector<Item>;

// One item a line, blanks around it cut off; empty lines and lines that start with # are left out.
// Throws Error(kUnreadable) without the file, Error(kUsage) "FILE:LINE: ..." for an item that is
// there twice, and for fewer than two items.
Items read_list(const std::filesystem::path& file);
// "100..400" or "100..400:50", ends included, upwards or downwards. Throws Error(kUsage).
Items range_items(const std::string& text);

}  // namespace nanhunt::bisect
