// SPDX-License-Identifier: Apache-2.0
#include "repro/curve_rows.h"

#include <algorithm>
#include <boost/tokenizer.hpp>
#include <charconv>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "trace/error.h"

namespace nanhunt::repro {
namespace {

using nlohmann::json;

struct Place {
  const std::filesystem::path& path;
  int line = 0;

  [[noreturn]] void fail(const std::string& reason) const {
    throw trace::Error(trace::ErrorKind::kUnreadable,
                       path.string() + ":" + std::to_string(line) + ": " + reason);
  }
};

// Named fields of a row, as text.
using Fields = std::map<std::string, std::string>;

double number(const Place& place, const std::string& name, const std::string& text) {
  double value = 0;
  const char* begin = text.data() + (text.starts_with('+') ? 1 : 0);
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(begin, end, value);
  if (error == std::errc::result_out_of_range) {
    place.fail("\"" + name + "\" is \"" + text + "\", which FP64 cannot hold");
  }
  if (error != std::errc() || stopped != end) {
    place.fail("\"" + name + "\" is \"" + text + "\", not a number");
  }
  return value;
}

std::optional<double> value_of(const Place& place, const Fields& fields, const std::string& name) {
  const auto found = fields.find(name);
  if (name.empty() || found == fields.end()) return std::nullopt;
  return number(place, name, found->second);
}

Row to_row(const Place& place, const Fields& fields, const ColumnNames& names) {
  constexpr double kLargestStep = 9007199254740992;  // 2^53: integers up to here are exact
  const auto step = value_of(place, fields, names.step);
  if (!step) place.fail("no \"" + names.step + "\"");
  if (*step != std::floor(*step) || std::abs(*step) > kLargestStep) {
    place.fail("\"" + names.step + "\" is \"" + fields.at(names.step) + "\", not an integer");
  }
  return {place.line, static_cast<int64_t>(*step), value_of(place, fields, names.loss),
          value_of(place, fields, names.quality)};
}

// Quotes the words that are numbers in Python's JSON, where they stand outside of strings.
std::string with_quoted_words(const std::string& line) {
  std::string text;
  bool inside = false;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (inside && c == '\\' && i + 1 < line.size()) {
      text += {c, line[++i]};
      continue;
    }
    if (c == '"') inside = !inside;
    size_t word = 0;
    for (const std::string_view candidate : {"NaN", "Infinity", "-Infinity"}) {
      if (!inside && line.compare(i, candidate.size(), candidate) == 0) word = candidate.size();
    }
    if (word > 0) {
      text += '"' + line.substr(i, word) + '"';
      i += word - 1;
    } else {
      text += c;
    }
  }
  return text;
}

Fields json_fields(const Place& place, const std::string& line, const ColumnNames& names) {
  const json object = json::parse(with_quoted_words(line), nullptr, false);
  if (!object.is_object()) place.fail("not a JSON object");
  Fields fields;
  for (const std::string& name : {names.step, names.loss, names.quality}) {
    const auto found = object.find(name);
    if (found == object.end()) continue;
    fields[name] = found->is_string() ? found->get<std::string>() : found->dump();
  }
  return fields;
}

std::vector<std::string> csv_fields(const Place& place, const std::string& line) {
  using Separator = boost::escaped_list_separator<char>;
  // The library takes a quote that never closes for one that closes at the end.
  if (std::ranges::count(line, '"') % 2 != 0) place.fail("not CSV: a quote is not closed");
  try {
    const boost::tokenizer<Separator> tokens(line, Separator('\\', ',', '"'));
    std::vector<std::string> fields;
    for (std::string field : tokens) {
      const auto first = field.find_first_not_of(" \t");
      const auto last = field.find_last_not_of(" \t");
      fields.push_back(first == std::string::npos ? "" : field.substr(first, last - first + 1));
    }
    return fields;
  } catch (const boost::escaped_list_error& error) {
    place.fail(std::string("not CSV: ") + error.what());
  }
}

// One reader per file: CSV must remember its header.
class LineReader {
 public:
  LineReader(bool csv, const ColumnNames& names) : csv_(csv), names_(names) {}

  std::optional<Row> read(const Place& place, const std::string& line) {
    if (!csv_) return to_row(place, json_fields(place, line, names_), names_);
    const std::vector<std::string> values = csv_fields(place, line);
    if (header_.empty()) {
      take_header(place, values);
      return std::nullopt;
    }
    if (values.size() != header_.size()) {
      place.fail(std::to_string(values.size()) + " fields under a header of " +
                 std::to_string(header_.size()));
    }
    Fields fields;
    for (size_t i = 0; i < values.size(); ++i) {
      if (!values[i].empty()) fields[header_[i]] = values[i];
    }
    return to_row(place, fields, names_);
  }

 private:
  void take_header(const Place& place, const std::vector<std::string>& names) {
    header_ = names;
    for (const std::string& name : {names_.step, names_.loss, names_.quality}) {
      const auto count = std::ranges::count(header_, name);
      if (name.empty() || count == 1) continue;
      place.fail("the header has " + std::string(count == 0 ? "no" : "several") + " \"" + name +
                 "\"");
    }
  }

  bool csv_;
  const ColumnNames& names_;
  std::vector<std::string> header_;
};

}  // namespace

std::vector<Row> read_rows(const std::filesystem::path& path, const ColumnNames& names) {
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path)) {
    throw trace::Error(trace::ErrorKind::kUnreadable, path.string() + ": cannot be opened");
  }
  LineReader reader(path.extension() == ".csv", names);
  std::vector<Row> rows;
  Place place{path};
  std::string line;
  while (std::getline(file, line)) {
    ++place.line;
    if (place.line == 1 && line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3);
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    if (line.ends_with('\r')) line.pop_back();
    if (const auto row = reader.read(place, line)) rows.push_back(*row);
  }
  return rows;
}

}  // namespace nanhunt::repro
