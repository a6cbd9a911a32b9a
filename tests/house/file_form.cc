// SPDX-License-Identifier: Apache-2.0
#include "tests/house/file_form.h"

#include <algorithm>
#include <string>

namespace nanhunt::house {
namespace {

constexpr std::size_t kMaxLines = 600;
constexpr std::size_t kMaxColumns = 100;
const std::vector<std::string> kCppSuffixes = {".h", ".cc", ".cu"};
const std::vector<std::string> kSourceSuffixes = {".h", ".cc", ".cu", ".py", ".cmake"};
const std::string kLicence = "// SPDX-License-Identifier: Apache-2.0";

// Glued from two halves, so that this file does not hold the words it looks for.
const std::vector<std::string> kWords = {
    std::string("TO") + "DO", std::string("FIX") + "ME", std::string("/wo") + "rk/",
    std::string("/ro") + "ot/", std::string("/ho") + "me/",
};

// Glued as well. The temporary directory, and what makes names in it.
const std::vector<std::string> kSharedPlaces = {
    std::string("Temp") + "Dir", std::string("temp_directory") + "_path",
    std::string("mkd") + "temp", std::string("mks") + "temp",
    std::string("tmp") + "nam",  std::string("temp") + "nam",
    std::string("TMP") + "DIR",  std::string("P_tmp") + "dir",
    std::string("/t") + "mp",
};
const std::string kScratchFolder = "tests/support/scratch_folder.h";

std::size_t columns(const std::string& line) {
  return static_cast<std::size_t>(std::count_if(line.begin(), line.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;  // not a continuation byte
  }));
}

bool is_word_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// A word that starts with a letter counts only as a whole word.
bool holds(const std::string& line, const std::string& word) {
  for (std::size_t at = line.find(word); at != std::string::npos; at = line.find(word, at + 1)) {
    if (word.front() == '/') return at == 0 || !is_word_character(line[at - 1]);
    const std::size_t end = at + word.size();
    const bool starts = at == 0 || !is_word_character(line[at - 1]);
    if (starts && (end == line.size() || !is_word_character(line[end]))) return true;
  }
  return false;
}

}  // namespace

std::vector<Breach> long_files(const std::vector<SourceFile>& files) {
  std::vector<Breach> breaches;
  for (const SourceFile& file : files) {
    if (has_suffix(file.path, kSourceSuffixes) && file.lines.size() > kMaxLines) {
      breaches.push_back({file.path, 0, std::to_string(file.lines.size()) + " lines"});
    }
  }
  return breaches;
}

std::vector<Breach> wide_lines(const std::vector<SourceFile>& files) {
  std::vector<Breach> breaches;
  for (const SourceFile& file : files) {
    if (!has_suffix(file.path, kCppSuffixes)) continue;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      const std::size_t width = columns(file.lines[i]);
      if (width > kMaxColumns) {
        breaches.push_back({file.path, i + 1, std::to_string(width) + " columns"});
      }
    }
  }
  return breaches;
}

std::vector<Breach> missing_preambles(const std::vector<SourceFile>& files) {
  std::vector<Breach> breaches;
  for (const SourceFile& file : files) {
    if (!has_suffix(file.path, kCppSuffixes)) continue;
    if (file.lines.empty() || file.lines.front() != kLicence) {
      breaches.push_back({file.path, 1, "the first line is not the licence"});
    }
    const bool guarded =
        std::find(file.lines.begin(), file.lines.end(), "#pragma once") != file.lines.end();
    if (has_suffix(file.path, {".h"}) && !guarded) {
      breaches.push_back({file.path, 0, "no #pragma once"});
    }
  }
  return breaches;
}

std::vector<Breach> shared_folders(const std::vector<SourceFile>& files) {
  std::vector<Breach> breaches;
  for (const SourceFile& file : files) {
    if (first_folder(file.path) != "tests" || file.path == kScratchFolder) continue;
    if (!has_suffix(file.path, kCppSuffixes)) continue;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      for (const std::string& place : kSharedPlaces) {
        if (!holds(file.lines[i], place)) continue;
        breaches.push_back({file.path, i + 1, place + ": use ScratchFolder"});
      }
    }
  }
  return breaches;
}

std::vector<Breach> forbidden_words(const std::vector<SourceFile>& files) {
  std::vector<Breach> breaches;
  for (const SourceFile& file : files) {
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      for (const std::string& word : kWords) {
        if (holds(file.lines[i], word)) breaches.push_back({file.path, i + 1, word});
      }
    }
  }
  return breaches;
}

}  // namespace nanhunt::house
