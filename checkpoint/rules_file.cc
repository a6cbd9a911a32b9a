// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/rules_file.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "checkpoint/rule.h"
#include "trace/error.h"
#include "trace/rules_file.h"

namespace nanhunt::checkpoint {
namespace {

using nlohmann::json;

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& reason) {
  throw trace::Error(trace::ErrorKind::kUsage, "rules file " + path.string() + ": " + reason);
}

json parse_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    throw trace::Error(trace::ErrorKind::kUsage, "cannot open rules file " + path.string());
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  try {
    return json::parse(text);
  } catch (const json::parse_error& error) {
    fail(path, "no valid JSON at byte " + std::to_string(error.byte));
  }
}

std::string text_at(const std::filesystem::path& path, const json& value,
                    const std::string& pointer) {
  if (!value.is_string() || value.get<std::string>().empty()) {
    fail(path, "at " + pointer + ": must be text");
  }
  return value.get<std::string>();
}

std::vector<std::string> texts_at(const std::filesystem::path& path, const json& value,
                                  const std::string& pointer) {
  if (!value.is_array()) fail(path, "at " + pointer + ": must be a list");
  std::vector<std::string> texts;
  for (size_t i = 0; i < value.size(); ++i) {
    texts.push_back(text_at(path, value[i], pointer + "/" + std::to_string(i)));
  }
  return texts;
}

std::regex regex_at(const std::filesystem::path& path, const json& value) {
  try {
    return std::regex(text_at(path, value, "/separate"));
  } catch (const std::regex_error&) {
    fail(path, "at /separate: no regular expression");
  }
}

void read_tied(const std::filesystem::path& path, const json& value, RulesFile* rules) {
  if (!value.is_array()) fail(path, "at /tied: must be a list");
  for (size_t i = 0; i < value.size(); ++i) {
    const std::string pointer = "/tied/" + std::to_string(i);
    const auto names = texts_at(path, value[i], pointer);
    if (names.size() != 2) fail(path, "at " + pointer + ": must be two names");
    rules->tied.emplace_back(names[0], names[1]);
  }
}

void read_accepted(const std::filesystem::path& path, const json& value, RulesFile* rules) {
  if (!value.is_object()) fail(path, "at /accept: must be an object");
  for (const auto& [rule, patterns] : value.items()) {
    if (!is_rule(rule)) fail(path, "at /accept: no rule \"" + rule + '"');
    rules->accepted[rule] = texts_at(path, patterns, "/accept/" + rule);
  }
}

bool fits_any(const std::vector<std::string>& patterns, const std::string& tensor) {
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
    return trace::match_site(pattern, tensor, nullptr);
  });
}

}  // namespace

bool RulesFile::is_replicated(const std::string& tensor) const {
  return fits_any(replicated, tensor);
}

bool RulesFile::accepts(const std::string& rule, const std::string& tensor) const {
  const auto patterns = accepted.find(rule);
  return patterns != accepted.end() && fits_any(patterns->second, tensor);
}

std::optional<std::string> RulesFile::part_of(const std::string& file) const {
  if (!separate) return "";
  std::smatch match;
  if (!std::regex_search(file, match, *separate)) return std::nullopt;
  std::string part;
  for (size_t i = 1; i < match.size(); ++i) part += match[i].str() + '\n';
  return part;
}

RulesFile read_rules_file(const std::filesystem::path& path) {
  const json document = parse_file(path);
  if (!document.is_object()) fail(path, "at the top: must be an object");
  RulesFile rules;
  rules.name = path.stem().string();
  for (const auto& [key, value] : document.items()) {
    if (key == "name") {
      rules.name = text_at(path, value, "/name");
    } else if (key == "replicated") {
      rules.replicated = texts_at(path, value, "/replicated");
    } else if (key == "separate") {
      rules.separate = regex_at(path, value);
    } else if (key == "tied") {
      read_tied(path, value, &rules);
    } else if (key == "accept") {
      read_accepted(path, value, &rules);
    } else {
      fail(path, "at the top: unknown key \"" + key + '"');
    }
  }
  return rules;
}

}  // namespace nanhunt::checkpoint
