// SPDX-License-Identifier: Apache-2.0
#include "report/data.h"

namespace nanhunt::report {

Data object() {
  return Data(Data::type::object);
}

Data list(const Lines& lines) {
  return table(lines, kMostLines, [](const std::string& line) { return Data(line); });
}

void set_unless_empty(Data& data, const std::string& key, const Lines& lines) {
  if (!lines.empty()) data.set(key, list(lines));
}

Data pair_row(const std::string& key, const std::string& value) {
  Data row = object();
  row.set("key", key);
  row.set("value", value);
  return row;
}

std::string of(int64_t part, int64_t whole) {
  return std::to_string(part) + " of " + std::to_string(whole);
}

std::string tone_of(int exit_status) {
  switch (exit_status) {
    case 0:
      return "good";
    case 1:
      return "bad";
    default:
      return "unclear";
  }
}

}  // namespace nanhunt::report
