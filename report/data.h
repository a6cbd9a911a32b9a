// SPDX-License-Identifier: Apache-2.0
// Data of the template, and the few shapes that sections share. Plain text throughout: the
// template escapes it. Sections of the template are left out where their key is missing.
#pragma once

#include <cstdint>
#include <kainjow/mustache.hpp>
#include <string>
#include <vector>

namespace nanhunt::report {

using Data = kainjow::mustache::data;
using Lines = std::vector<std::string>;

inline constexpr size_t kMostFindings = 100;  // shown in the table
inline constexpr size_t kMostLines = 30;      // of each list and table beside it

Data object();

// {"rows": [...], "more": {"count"}}: at most `most` of them, each made by `make`.
template <typename T, typename Make>
Data table(const std::vector<T>& values, size_t most, const Make& make) {
  Data rows(Data::type::list);
  for (size_t i = 0; i < values.size() && i < most; ++i) rows.push_back(make(values[i]));
  Data result = object();
  result.set("rows", rows);
  if (values.size() > most) {
    Data more = object();
    more.set("count", std::to_string(values.size() - most));
    result.set("more", more);
  }
  return result;
}

Data list(const Lines& lines);  // at most kMostLines
void set_unless_empty(Data& data, const std::string& key, const Lines& lines);
Data pair_row(const std::string& key, const std::string& value);  // {"key", "value"}

std::string of(int64_t part, int64_t whole);  // "3 of 4"
std::string tone_of(int exit_status);         // class of the style: "good", "bad", "unclear"

}  // namespace nanhunt::report
