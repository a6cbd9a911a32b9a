// SPDX-License-Identifier: Apache-2.0
// What no file says by itself: which tensors of a checkpoint are copies of each other, and what a
// user knows to be so by design. JSON, all keys optional (docs/checkpoints.md):
//
//   { "name": "...",
//     "replicated": ["decoder.layers.*.input_layernorm.weight"],
//     "separate": "mp_rank_[0-9]+(.*)",
//     "tied": [["lm_head.weight", "model.embed_tokens.weight"]],
//     "accept": {"all_zero": ["**.gate.weight"]} }
//
// Patterns are those of trace/rules_file.h: "*" one dotted component, "**" any number.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <regex>
#include <string>
#include <utility>
#include <vector>

namespace nanhunt::checkpoint {

struct RulesFile {
  std::string name;
  std::vector<std::string> replicated;  // the same in every file by rank
  // Searched in a file's name; files are held against each other where all captures agree. A file
  // in which it is not found is held against none.
  std::optional<std::regex> separate;
  std::vector<std::pair<std::string, std::string>> tied;     // names, no patterns
  std::map<std::string, std::vector<std::string>> accepted;  // rule -> patterns of tensors

  bool is_replicated(const std::string& tensor) const;
  bool accepts(const std::string& rule, const std::string& tensor) const;
  // What the captures of `separate` give for a file; nullopt: it may not be compared. Without
  // `separate` all files have the same.
  std::optional<std::string> part_of(const std::string& file) const;
};

// Throws Error(kUsage) with the file and the place in it.
RulesFile read_rules_file(const std::filesystem::path& path);

}  // namespace nanhunt::checkpoint
