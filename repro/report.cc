// SPDX-License-Identifier: Apache-2.0
#include "repro/report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "trace/check.h"
#include "trace/error.h"

namespace nanhunt::repro {
namespace {

using capsule::Level;

constexpr size_t kMostEvidence = 12;

// A claim is only as good as what shows it.
void require_artifacts(const Report& report) {
  for (const LevelReport& level : report.levels) {
    if (level.verdict == LevelVerdict::kNotJudged) continue;
    const std::string claim =
        "level " + title_of(level) + ": " + std::string(name_of(level.verdict));
    if (level.artifacts.empty() || level.commands.empty())
      throw trace::Error(trace::ErrorKind::kInternal, claim + " is claimed without an artifact");
    for (const auto& artifact : level.artifacts) {
      if (!std::filesystem::exists(artifact))
        throw trace::Error(trace::ErrorKind::kInternal,
                           claim + ": its artifact " + artifact.string() + " is not there");
    }
  }
}

}  // namespace

std::string_view name_of(LevelVerdict verdict) {
  switch (verdict) {
    case LevelVerdict::kEqual:
      return "equal";
    case LevelVerdict::kWithin:
      return "within";
    case LevelVerdict::kDifferent:
      return "different";
    case LevelVerdict::kUnknown:
      return "unknown";
    case LevelVerdict::kNotJudged:
      return "not judged";
  }
  NANHUNT_CHECK(false && "unknown verdict");
}

std::string verdict_text(const LevelReport& level) {
  std::string text(name_of(level.verdict));
  for (size_t i = 0; i < level.of.size(); ++i) text += (i == 0 ? " (of the " : ", ") + level.of[i];
  return level.of.empty() ? text : text + ")";
}

std::string title_of(const LevelReport& level) {
  return std::string(name_of(level.level)) + (level.part.empty() ? "" : ", " + level.part);
}

int exit_status(const Report& report) {
  const auto any = [&](LevelVerdict verdict) {
    return std::ranges::find(report.levels, verdict, &LevelReport::verdict) != report.levels.end();
  };
  if (any(LevelVerdict::kDifferent)) return 1;
  return any(LevelVerdict::kUnknown) ? 125 : 0;
}

nlohmann::json to_json(const Report& report) {
  require_artifacts(report);
  nlohmann::json levels = nlohmann::json::array();
  for (const LevelReport& level : report.levels) {
    nlohmann::json artifacts = nlohmann::json::array();
    for (const auto& artifact : level.artifacts) artifacts.push_back(artifact.string());
    nlohmann::json entry = {{"level", name_of(level.level)},
                            {"part", level.part},
                            {"observable", level.observable},
                            {"threshold", level.threshold},
                            {"verdict", name_of(level.verdict)},
                            {"of", level.of},
                            {"evidence", level.evidence},
                            {"implies", implication(report, level)},
                            {"artifacts", artifacts},
                            {"commands", level.commands}};
    if (level.convergence) entry["convergence"] = to_json(*level.convergence);
    levels.push_back(entry);
  }
  return {{"schema", "nanhunt.repro.1"},
          {"question", report.question},
          {"levels", levels},
          {"thresholds_sha256", report.thresholds_sha256}};
}

std::string to_text(const Report& report) {
  require_artifacts(report);
  std::string text = "Question: " + report.question + "\n";
  for (const LevelReport& level : report.levels) {
    text += "\nLevel " + title_of(level) + ": " + verdict_text(level) + "\n";
    text += "  observable  " + level.observable + "\n";
    text += "  threshold   " + level.threshold + "\n";
    for (size_t i = 0; i < std::min(level.evidence.size(), kMostEvidence); ++i)
      text += (i == 0 ? "  evidence    " : "              ") + level.evidence[i] + "\n";
    if (level.evidence.size() > kMostEvidence) {
      text += "              and " + std::to_string(level.evidence.size() - kMostEvidence) +
              " more (--json)\n";
    }
    const std::string meaning = implication(report, level);
    if (!meaning.empty()) text += "  implies     " + meaning + "\n";
    for (const std::string& command : level.commands) text += "  made by     " + command + "\n";
  }
  return text + "\n" + ticket(report);
}

}  // namespace nanhunt::repro
