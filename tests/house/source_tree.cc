// SPDX-License-Identifier: Apache-2.0
#include "tests/house/source_tree.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>

namespace nanhunt::house {
namespace {

namespace fs = std::filesystem;

bool skipped(const fs::path& folder) {
  const std::string name = folder.filename().string();
  if (name == ".ci") return false;
  return name.starts_with(".") || name.starts_with("build") || name == "out" ||
         name == "__pycache__";
}

std::string read_all(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::vector<std::string> split_lines(const std::string& content) {
  std::vector<std::string> lines;
  std::istringstream in(content);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

}  // namespace

std::vector<SourceFile> read_tree(const fs::path& root) {
  std::vector<SourceFile> files;
  for (auto it = fs::recursive_directory_iterator(root); it != fs::recursive_directory_iterator();
       ++it) {
    if (it->is_directory()) {
      if (skipped(it->path())) it.disable_recursion_pending();
      continue;
    }
    if (!it->is_regular_file()) continue;
    const std::string content = read_all(it->path());
    if (content.find('\0') != std::string::npos) continue;
    files.push_back({it->path().lexically_relative(root).generic_string(), split_lines(content)});
  }
  std::sort(files.begin(), files.end(),
            [](const SourceFile& a, const SourceFile& b) { return a.path < b.path; });
  return files;
}

std::string to_text(const std::vector<Breach>& breaches) {
  std::ostringstream out;
  for (const Breach& breach : breaches) {
    out << breach.path << ':' << breach.line << ": " << breach.text << '\n';
  }
  return out.str();
}

bool has_suffix(const std::string& path, const std::vector<std::string>& suffixes) {
  return std::any_of(suffixes.begin(), suffixes.end(),
                     [&](const std::string& suffix) { return path.ends_with(suffix); });
}

std::string first_folder(const std::string& path) {
  const std::size_t slash = path.find('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

}  // namespace nanhunt::house
