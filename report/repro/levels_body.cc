// SPDX-License-Identifier: Apache-2.0
// The page of a level report.
#include "report/body.h"
#include "report/repro/sections.h"
#include "report/resources.h"

namespace nanhunt::report {
namespace {

using repro::LevelReport;
using repro::LevelVerdict;

std::string tone_of(LevelVerdict verdict) {
  switch (verdict) {
    case LevelVerdict::kEqual:
    case LevelVerdict::kWithin:
      return "good";
    case LevelVerdict::kDifferent:
      return "bad";
    case LevelVerdict::kUnknown:
      return "unclear";
    case LevelVerdict::kNotJudged:
      break;
  }
  return "quiet";
}

Lines artifacts_of(const LevelReport& level) {
  Lines lines;
  for (const auto& artifact : level.artifacts) lines.push_back(artifact.string());
  return lines;
}

Data level_row(const repro::Report& report, const LevelReport& level) {
  Data data = object();
  data.set("name", repro::title_of(level));
  data.set("verdict_of_level", repro::verdict_text(level));
  data.set("tone_of_level", tone_of(level.verdict));
  data.set("observable", level.observable);
  data.set("threshold", level.threshold);
  data.set("implies", repro::implication(report, level));
  set_unless_empty(data, "evidence", level.evidence);
  set_unless_empty(data, "artifacts", artifacts_of(level));
  set_unless_empty(data, "commands", level.commands);
  return data;
}

}  // namespace

Body body_of(const LevelResult& result) {
  const repro::Report& report = result.report;
  Data data = object(), levels(Data::type::list);
  data.set("verdict", repro::headline(report));
  data.set("tone", report::tone_of(repro::exit_status(report)));
  data.set("headline", repro::headline(report));
  data.set("ticket", repro::ticket(report));
  data.set("question", report.question);
  for (const LevelReport& level : report.levels) levels.push_back(level_row(report, level));
  data.set("levels", levels);
  data.set("report_hash", report.thresholds_sha256);
  nlohmann::json plots = nlohmann::json::object();
  if (result.convergence) {
    data.set("convergence", convergence_data(*result.convergence));
    plots = convergence_plots(*result.convergence);
  }
  return {levels_html(), std::move(data), std::move(plots)};
}

}  // namespace nanhunt::report
