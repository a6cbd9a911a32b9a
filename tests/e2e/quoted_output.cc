// SPDX-License-Identifier: Apache-2.0
#include "tests/e2e/quoted_output.h"

#include <regex>
#include <sstream>

namespace nanhunt::e2e {
namespace {

bool is_indented(const std::string& line) {
  return line.starts_with("    ");
}

// One blank between words.
std::string alike(const std::string& text) {
  static const std::regex host(R"(: \S+ cpu\b)"), fraction(R"(\d\.\d+(e[-+]?\d+)?)"),
      hash(R"(([-/])[0-9a-f]{8,16}\b)"), blanks(R"(\s+)");
  std::string result = std::regex_replace(text, host, ": HOST cpu");
  result = std::regex_replace(result, fraction, "FRACTION");
  result = std::regex_replace(result, hash, "$1HASH");
  return std::regex_replace(result, blanks, " ");
}

}  // namespace

std::optional<std::string> quoted_after(const std::string& document, const std::string& command) {
  std::istringstream lines(document);
  std::string line, block;
  bool found = false, over = false;  // the command; the block that it stands in
  while (std::getline(lines, line)) {
    if (!found) {
      found = line.find(command) != std::string::npos;
      over = found && !is_indented(line);
    } else if (!over) {
      over = !is_indented(line) && !line.empty();
    } else if (is_indented(line) || (line.empty() && !block.empty())) {
      block += line + "\n";
    } else if (!block.empty()) {
      break;
    }
  }
  if (block.empty()) return std::nullopt;
  return block;
}

std::string first_not_printed(const std::string& quoted, const std::string& printed) {
  const std::string all = alike(printed);
  const std::string pieces = std::regex_replace(quoted, std::regex(R"(\.\.\.)"), "\n");
  std::istringstream lines(pieces);
  size_t at = 0;
  for (std::string line; std::getline(lines, line);) {
    std::string piece = alike(line);
    piece.erase(0, piece.find_first_not_of(' '));
    piece.erase(piece.find_last_not_of(' ') + 1);
    if (piece.empty()) continue;
    const size_t place = all.find(piece, at);
    if (place == std::string::npos) return piece;
    at = place + piece.size();
  }
  return "";
}

}  // namespace nanhunt::e2e
