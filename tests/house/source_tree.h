// SPDX-License-Identifier: Apache-2.0
#pragma once

// The project's own text files, and what a house rule says about them.

#include <filesystem>
#include <string>
#include <vector>

namespace nanhunt::house {

struct SourceFile {
  std::string path;  // relative to the root, with forward slashes
  std::vector<std::string> lines;
};

// A breach of a rule. `line` counts from 1; 0 means the whole file.
struct Breach {
  std::string path;
  std::size_t line = 0;
  std::string text;
};

// All text files below `root`, sorted by path. Left out: hidden folders but .ci, build folders,
// Python caches, and files that hold a zero byte.
std::vector<SourceFile> read_tree(const std::filesystem::path& root);

// One line a breach: path:line: text.
std::string to_text(const std::vector<Breach>& breaches);

bool has_suffix(const std::string& path, const std::vector<std::string>& suffixes);

// The first folder of a path, "" for a file at the root.
std::string first_folder(const std::string& path);

}  // namespace nanhunt::house
