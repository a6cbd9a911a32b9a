// SPDX-License-Identifier: Apache-2.0
// A level report from its JSON. What a level implies is not read: it follows from the verdicts.
#include "repro/json_fields.h"
#include "repro/report.h"

namespace nanhunt::repro {
namespace {

using nlohmann::json;

LevelReport level_of(const json& object) {
  using capsule::Level;
  LevelReport level;
  level.level = named(object, "level", {Level::kState, Level::kReplay, Level::kConvergence});
  if (object.contains("part")) level.part = text(object, "part");
  level.observable = text(object, "observable");
  level.threshold = text(object, "threshold");
  level.verdict = named(object, "verdict",
                        {LevelVerdict::kEqual, LevelVerdict::kWithin, LevelVerdict::kDifferent,
                         LevelVerdict::kUnknown, LevelVerdict::kNotJudged});
  if (object.contains("of")) level.of = texts(object, "of");
  level.evidence = texts(object, "evidence");
  for (const std::string& path : texts(object, "artifacts")) level.artifacts.emplace_back(path);
  level.commands = texts(object, "commands");
  return level;
}

Report read(const json& object) {
  require_schema(object, "nanhunt.repro.1");
  Report report;
  report.question = text(object, "question");
  report.thresholds_sha256 = text(object, "thresholds_sha256");
  for (const json& level : field(object, "levels")) report.levels.push_back(level_of(level));
  if (report.levels.empty()) refuse_json("it has no level");
  return report;
}

}  // namespace

Report report_from_json(const json& object) {
  return read_as("reproducibility report", object, read);
}

}  // namespace nanhunt::repro
