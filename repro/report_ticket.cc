// SPDX-License-Identifier: Apache-2.0
// The block of a level report for a ticket.
#include <algorithm>

#include "compare/numbers.h"
#include "repro/report.h"

namespace nanhunt::repro {
namespace {

constexpr size_t kEvidenceShown = 2;  // what was counted, and the first difference
constexpr size_t kHashShown = 16;
constexpr size_t kWidth = 11;  // of "question:  "

std::string line(const std::string& name, const std::string& text) {
  std::string start = name + ":";
  start.resize(std::max(kWidth, start.size() + 1), ' ');
  return start + text + "\n";
}

std::string level_text(const LevelReport& level) {
  std::vector<std::string> parts = {verdict_text(level)};
  for (size_t i = 0; i < std::min(level.evidence.size(), kEvidenceShown); ++i) {
    parts.push_back(level.evidence[i]);
  }
  return compare::join(parts, "; ");
}

// Of the first level that decides: what differs, else what cannot be told.
const LevelReport* deciding(const Report& report) {
  for (const auto verdict : {LevelVerdict::kDifferent, LevelVerdict::kUnknown}) {
    const auto found = std::ranges::find(report.levels, verdict, &LevelReport::verdict);
    if (found != report.levels.end()) return &*found;
  }
  return nullptr;
}

}  // namespace

std::string headline(const Report& report) {
  std::vector<std::string> parts;
  for (const LevelReport& level : report.levels) {
    if (level.part.empty() || level.verdict == LevelVerdict::kDifferent)
      parts.push_back(title_of(level) + " " + verdict_text(level));
  }
  return compare::join(parts, ", ");
}

std::string ticket(const Report& report) {
  std::string text = "---- nanhunt ----\n" + line("question", report.question);
  for (const LevelReport& level : report.levels) {
    text += line(title_of(level), level_text(level));
  }
  if (const LevelReport* level = deciding(report)) {
    const std::string implies = implication(report, *level);
    if (!implies.empty()) text += line("implies", implies);
    if (!level->commands.empty()) text += line("made by", level->commands.front());
  }
  return text + "thresholds " + report.thresholds_sha256.substr(0, kHashShown) +
         "\n-----------------\n";
}

}  // namespace nanhunt::repro
