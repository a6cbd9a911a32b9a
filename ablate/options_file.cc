// SPDX-License-Identifier: Apache-2.0
#include "ablate/options_file.h"

#include <boost/program_options.hpp>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>

#include "ablate/nearest.h"
#include "trace/error.h"

namespace nanhunt::ablate {
namespace {

namespace po = boost::program_options;

std::string trimmed(const std::string& text) {
  const size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

// Numbers of the lines that hold an option: the parser keeps no line numbers, but it turns each
// such line into exactly one option, in order.
std::vector<int> option_lines(const std::string& text) {
  std::vector<int> lines;
  std::istringstream stream(text);
  std::string line;
  for (int number = 1; std::getline(stream, line); ++number) {
    const std::string content = trimmed(line.substr(0, line.find('#')));
    const bool section = !content.empty() && content.front() == '[' && content.back() == ']';
    if (!content.empty() && !section) lines.push_back(number);
  }
  return lines;
}

// What the star of a pattern stands for in that key; nullopt when it does not fit.
std::optional<std::string> fit(const std::string& pattern, const std::string& key) {
  const size_t star = pattern.find('*');
  if (star == std::string::npos) {
    return key == pattern ? std::optional<std::string>("") : std::nullopt;
  }
  const std::string before = pattern.substr(0, star), after = pattern.substr(star + 1);
  if (key.size() <= before.size() + after.size() || !key.starts_with(before) ||
      !key.ends_with(after)) {
    return std::nullopt;
  }
  return key.substr(before.size(), key.size() - before.size() - after.size());
}

std::string first_part(const std::string& key) {
  return key.substr(0, key.find('.'));
}
std::string last_part(const std::string& key) {
  return key.substr(key.rfind('.') + 1);
}

// The hint for an unknown key: a known key of its section, else a known section or top-level key.
std::string hint(const std::string& key, const std::vector<Leaf>& schema) {
  std::vector<std::string> of_section, first_parts;
  for (const Leaf& leaf : schema) {
    first_parts.push_back(first_part(leaf.pattern));
    if (first_part(leaf.pattern) != first_part(key)) continue;
    if (last_part(leaf.pattern) != "*") of_section.push_back(last_part(leaf.pattern));
  }
  if (key.find('.') != std::string::npos && !of_section.empty()) {
    return did_you_mean(last_part(key), of_section);
  }
  return did_you_mean(first_part(key), first_parts);
}

// Line at which the parser stopped.
int failed_line(std::istringstream& stream, const std::string& text) {
  stream.clear();
  const auto position = stream.tellg();
  const auto end = position < 0 ? text.end() : text.begin() + static_cast<long>(position);
  const int newlines = static_cast<int>(std::count(text.begin(), end, '\n'));
  return newlines + (end == text.end() && (text.empty() || text.back() != '\n') ? 1 : 0);
}

}  // namespace

void refuse(const std::filesystem::path& path, int line, const std::string& what) {
  throw trace::Error(trace::ErrorKind::kUsage,
                     path.string() + ":" + std::to_string(line) + ": " + what);
}

OptionsFile parse_options_text(const std::string& text, const std::filesystem::path& name,
                               const std::vector<Leaf>& schema) {
  std::istringstream stream(text);
  po::parsed_options parsed(nullptr);
  try {
    parsed = po::parse_config_file(stream, po::options_description(), true);
  } catch (const po::error& error) {
    refuse(name, failed_line(stream, text), error.what());
  }
  const std::vector<int> lines = option_lines(text);
  OptionsFile file{name, {}};
  std::map<std::string, int> seen;
  for (size_t i = 0; i < parsed.options.size(); ++i) {
    const po::option& option = parsed.options[i];
    const int line = i < lines.size() ? lines[i] : 0;
    const Leaf* leaf = nullptr;
    OptionsEntry entry;
    for (const Leaf& candidate : schema) {
      const auto star = fit(candidate.pattern, option.string_key);
      if (!star) continue;
      leaf = &candidate;
      entry = {candidate.pattern, *star, option.value.empty() ? "" : option.value.front(), line};
      break;
    }
    if (!leaf)
      refuse(name, line,
             "unknown key '" + option.string_key + "'" + hint(option.string_key, schema));
    const auto [before, fresh] = seen.emplace(option.string_key, line);
    if (!fresh && !leaf->many) {
      refuse(name, line,
             "'" + option.string_key + "' is given twice, first in line " +
                 std::to_string(before->second));
    }
    file.entries.push_back(std::move(entry));
  }
  return file;
}

OptionsFile read_options_file(const std::filesystem::path& path, const std::vector<Leaf>& schema) {
  std::ifstream stream(path);
  std::ostringstream text;
  if (!stream || !(text << stream.rdbuf())) {
    throw trace::Error(trace::ErrorKind::kUsage, path.string() + ": cannot be read");
  }
  return parse_options_text(text.str(), path, schema);
}

std::vector<std::string> split_words(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

int64_t integer_of(const OptionsFile& file, const OptionsEntry& entry) {
  size_t used = 0;
  int64_t value = 0;
  try {
    value = std::stoll(entry.value, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  if (used == 0 || used != entry.value.size()) {
    refuse(file.path, entry.line, entry.pattern + " is '" + entry.value + "', not a whole number");
  }
  return value;
}

double number_of(const OptionsFile& file, const OptionsEntry& entry) {
  size_t used = 0;
  double value = 0;
  try {
    value = std::stod(entry.value, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  if (used == 0 || used != entry.value.size()) {
    refuse(file.path, entry.line,
           (entry.name.empty() ? entry.pattern : entry.name) + " is '" + entry.value +
               "', not a number");
  }
  return value;
}

}  // namespace nanhunt::ablate
