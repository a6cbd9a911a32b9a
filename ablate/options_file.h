// SPDX-License-Identifier: Apache-2.0
// Options files: the form of case and subject files. Lines `key = value`, sections `[name]`,
// comments from `#` to the end of the line; syntax as Boost.Program_options reads it. What may be
// in a file is one table, the schema: each leaf once or many times. Nothing is guessed: a key that
// the schema does not know is refused with its line and the nearest known name.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace nanhunt::ablate {

// A key that a file may hold. One star stands for a dotted name: "toggle.*.values" is the key
// `values` of a section [toggle.NAME], "set.*" any key of the section [set].
struct Leaf {
  std::string pattern;
  bool many = false;  // may be given more than once
};

struct OptionsEntry {
  std::string pattern;  // of the leaf it matched
  std::string name;     // what the star stands for; "" without a star
  std::string value;
  int line = 0;
};

struct OptionsFile {
  std::filesystem::path path;
  std::vector<OptionsEntry> entries;  // in the order of the file
};

// Throws Error(kUsage) "FILE:LINE: ...".
OptionsFile read_options_file(const std::filesystem::path& path, const std::vector<Leaf>& schema);
OptionsFile parse_options_text(const std::string& text, const std::filesystem::path& name,
                               const std::vector<Leaf>& schema);

// The error of a place in a file.
[[noreturn]] void refuse(const std::filesystem::path& path, int line, const std::string& what);

// Words at blanks.
std::vector<std::string> split_words(const std::string& text);
// Whole number or number of an entry; else refused, with its key.
int64_t integer_of(const OptionsFile& file, const OptionsEntry& entry);
double number_of(const OptionsFile& file, const OptionsEntry& entry);

}  // namespace nanhunt::ablate
