// SPDX-License-Identifier: Apache-2.0
#include "bisect/items.h"

#include <charconv>
#include <cstdint>
#include <fstream>
#include <map>

#include "trace/error.h"

namespace nanhunt::bisect {
namespace {

constexpr int64_t kMostItems = 1000000;

[[noreturn]] void refuse(const std::string& what) {
  throw trace::Error(trace::ErrorKind::kUsage, what);
}

std::string trimmed(const std::string& line) {
  const char* blanks = " \t\r\f\v";
  const size_t first = line.find_first_not_of(blanks);
  if (first == std::string::npos) return "";
  return line.substr(first, line.find_last_not_of(blanks) - first + 1);
}

[[noreturn]] void refuse_range(const std::string& text, const std::string& why) {
  refuse("--range '" + text + "': " + why + "; it is written FIRST..LAST or FIRST..LAST:STEP");
}

int64_t number_in(const std::string& range, const std::string& text) {
  int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end) refuse_range(range, "'" + text + "' is no whole number");
  // So that differences do not overflow.
  if (number > INT64_MAX / 4 || number < INT64_MIN / 4) refuse_range(range, "too large");
  return number;
}

}  // namespace

Items read_list(const std::filesystem::path& file) {
  std::ifstream stream(file);
  if (!stream || std::filesystem::is_directory(file)) {
    throw trace::Error(trace::ErrorKind::kUnreadable, file.string() + ": cannot be read");
  }
  Items items;
  std::map<std::string, int> lines;
  int number = 0;
  for (std::string line; std::getline(stream, line);) {
    ++number;
    const std::string name = trimmed(line);
    if (name.empty() || name.front() == '#') continue;
    const auto [known, fresh] = lines.emplace(name, number);
    if (!fresh) {
      refuse(file.string() + ":" + std::to_string(number) + ": '" + name +
             "' is there already, in line " + std::to_string(known->second));
    }
    items.push_back({name, ""});
  }
  if (stream.bad()) throw trace::Error(trace::ErrorKind::kUnreadable, file.string() + ": torn");
  if (items.size() < 2) {
    refuse(file.string() + ": " + std::to_string(items.size()) +
           " items; a search needs a good one and a bad one");
  }
  return items;
}

Items range_items(const std::string& text) {
  const size_t dots = text.find("..");
  if (dots == std::string::npos) refuse_range(text, "no '..'");
  const size_t colon = text.find(':', dots);
  const int64_t first = number_in(text, text.substr(0, dots));
  const int64_t last = number_in(text, text.substr(dots + 2, colon - dots - 2));
  const int64_t step = colon == std::string::npos ? 1 : number_in(text, text.substr(colon + 1));
  if (step < 1) refuse_range(text, "the step is not positive");
  if (first == last) refuse_range(text, "one item; a search needs a good one and a bad one");
  const int64_t distance = last > first ? last - first : first - last;
  if (distance % step != 0) refuse_range(text, "no whole number of steps leads to the last item");
  if (distance / step >= kMostItems) refuse_range(text, "more than a million items");
  Items items;
  for (int64_t at = 0; at <= distance; at += step) {
    items.push_back({std::to_string(last > first ? first + at : first - at), ""});
  }
  return items;
}

}  // namespace nanhunt::bisect
