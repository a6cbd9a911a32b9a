// SPDX-License-Identifier: Apache-2.0
#include "cli/fault_draw.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "ablate/nearest.h"
#include "ablate/options_file.h"
#include "ablate/schema.h"
#include "trace/error.h"

namespace nanhunt::cli {
namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw trace::Error(trace::ErrorKind::kUsage, what);
}

int64_t whole_number(const std::string& text, const std::string& where) {
  size_t used = 0;
  int64_t value = 0;
  try {
    value = std::stoll(text, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  if (used == 0 || used != text.size()) refuse(where + ": '" + text + "' is not a whole number");
  return value;
}

// "draw A..B" or "N"
int64_t draw(const ablate::OptionsFile& file, const ablate::OptionsEntry& entry, uint64_t seed) {
  const std::vector<std::string> words = ablate::split_words(entry.value);
  const std::string where = file.path.string() + ":" + std::to_string(entry.line);
  if (words.size() == 1) return whole_number(words[0], where);
  const size_t dots = words.size() == 2 ? words[1].find("..") : std::string::npos;
  if (words.empty() || words[0] != "draw" || dots == std::string::npos) {
    ablate::refuse(file.path, entry.line, "write `draw A..B` or a whole number");
  }
  const int64_t first = whole_number(words[1].substr(0, dots), where);
  const int64_t last = whole_number(words[1].substr(dots + 2), where);
  if (last < first) ablate::refuse(file.path, entry.line, "the range is empty");
  const uint64_t bits = splitmix64(seed ^ fnv1a(file.path.stem().string() + "/" + entry.name));
  return first + static_cast<int64_t>(bits % static_cast<uint64_t>(last - first + 1));
}

// The inside of one pair of braces.
std::string fill_one(const std::string& inside, const std::map<std::string, int64_t>& numbers) {
  const size_t colon = inside.find(':');
  std::vector<std::string> words = ablate::split_words(inside.substr(0, colon));
  if (words.empty()) refuse("empty braces");
  const auto found = numbers.find(words[0]);
  if (found == numbers.end()) {
    std::vector<std::string> known;
    for (const auto& [name, value] : numbers) known.push_back(name);
    refuse("{" + inside + "}: nothing drawn is called '" + words[0] + "'" +
           ablate::did_you_mean(words[0], known));
  }
  int64_t value = found->second;
  if (words.size() == 3) {
    const int64_t other = whole_number(words[2], "{" + inside + "}");
    const std::string& op = words[1];
    if ((op == "/" || op == "%") && other == 0) refuse("{" + inside + "}: division by 0");
    if (op == "/")
      value /= other;
    else if (op == "%")
      value %= other;
    else if (op == "+")
      value += other;
    else
      refuse("{" + inside + "}: no operation '" + op + "'");
  } else if (words.size() != 1) {
    refuse("{" + inside + "}: write {KEY} or {KEY / N}");
  }
  if (colon == std::string::npos) return std::to_string(value);
  const std::vector<std::string> choices = ablate::split_words(inside.substr(colon + 1));
  if (choices.empty()) refuse("{" + inside + "}: nothing to choose from");
  return choices[static_cast<size_t>(value) % choices.size()];
}

}  // namespace

uint64_t splitmix64(uint64_t state) {
  state += 0x9E3779B97F4A7C15u;
  state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9u;
  state = (state ^ (state >> 27)) * 0x94D049BB133111EBu;
  return state ^ (state >> 31);
}

uint64_t fnv1a(const std::string& text) {
  uint64_t hash = 0xCBF29CE484222325u;
  for (const char letter : text) {
    hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001B3u;
  }
  return hash;
}

DrawnFault read_fault(const std::filesystem::path& case_file, uint64_t seed) {
  const ablate::OptionsFile file = ablate::read_options_file(case_file, ablate::case_schema());
  DrawnFault fault;
  for (const ablate::OptionsEntry& entry : file.entries) {
    if (entry.pattern != "fault.*") continue;
    if (entry.name == "name") {
      fault.name = entry.value;
    } else {
      fault.numbers[entry.name] = draw(file, entry, seed);
    }
  }
  return fault;
}

void write_fault_file(const DrawnFault& fault, const std::filesystem::path& path) {
  nlohmann::json fields{{"name", fault.name}};
  for (const auto& [key, value] : fault.numbers) fields[key] = value;
  std::filesystem::create_directories(path.parent_path());
  std::ofstream stream(path);
  stream << fields.dump() << "\n" << std::flush;
  if (!stream) throw trace::cannot_write(path);
}

std::string describe(const DrawnFault& fault) {
  std::string text;
  for (const auto& [key, value] : fault.numbers) {
    text += (text.empty() ? "" : " ") + key + "=" + std::to_string(value);
  }
  return text;
}

std::string fill_in(const std::string& text, const std::map<std::string, int64_t>& numbers) {
  std::string filled;
  size_t start = 0;
  for (size_t open; (open = text.find('{', start)) != std::string::npos;) {
    const size_t close = text.find('}', open);
    if (close == std::string::npos) refuse("'" + text + "': no closing brace");
    filled += text.substr(start, open - start) +
              fill_one(text.substr(open + 1, close - open - 1), numbers);
    start = close + 1;
  }
  return filled + text.substr(start);
}

}  // namespace nanhunt::cli
