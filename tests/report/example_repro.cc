// SPDX-License-Identifier: Apache-2.0
#include "tests/report/example_repro.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "tests/report/example_results.h"

namespace nanhunt::report::test {
namespace {

using nlohmann::json;

// Falling losses, each pair at its own height, B a little higher or lower in turn.
repro::CurvePair pair_of(const Seeds& seeds, int index) {
  repro::CurvePair pair;
  pair.a.path = "a-" + std::to_string(index + 1);
  pair.b.path = "b-" + std::to_string(index + 1);
  const double own = index % 2 == 0 ? 0.001 : -0.001;
  for (int step = 0; step < seeds.steps; ++step) {
    const double loss = 3 + index + 2.0 / (1 + step);
    pair.a.steps.push_back(step);
    pair.a.losses.push_back(loss);
    pair.b.losses.push_back(loss + own * (1 + index) + seeds.shift);
  }
  pair.b.steps = pair.a.steps;
  if (index >= seeds.pairs - seeds.lost) {
    pair.b.losses.back() = std::numeric_limits<double>::quiet_NaN();
  }
  return pair;
}

// to_json asks for artifacts that are there.
json json_of(const LevelResult& result) {
  repro::Report report = result.report;
  for (auto& level : report.levels) {
    for (auto& artifact : level.artifacts) artifact = "/";
  }
  json object = repro::to_json(report);
  for (size_t i = 0; i < report.levels.size(); ++i) {
    json names = json::array();
    for (const auto& artifact : result.report.levels[i].artifacts) names.push_back(artifact);
    object["levels"][i]["artifacts"] = names;
  }
  if (result.convergence) object["levels"].back()["convergence"] = to_json(*result.convergence);
  return object;
}

}  // namespace

repro::Convergence convergence_of(const Seeds& seeds) {
  std::vector<repro::CurvePair> pairs;
  for (int i = 0; i < seeds.pairs; ++i) pairs.push_back(pair_of(seeds, i));
  repro::Criteria criteria;
  criteria.criteria = {{repro::Metric::kEarly, {0.02}}, {repro::Metric::kLate, {0.03}}};
  auto result = repro::judge(criteria, pairs, {});
  result.command = "nanhunt repro --pair a-1=b-1 --margin 0.02";
  return result;
}

LevelResult level_result() {
  LevelResult result;
  result.report = {"save at step 2 and resume there", {}, std::string(64, 'e')};
  result.report.levels.push_back({capsule::Level::kState,
                                  "parameters and moments",
                                  "equal values",
                                  repro::LevelVerdict::kDifferent,
                                  {"163 of 164 tensors are equal", "optimizer step is 2 in A"},
                                  {"run/capsules"},
                                  {"nanhunt repro --state a@2 b@2"}});
  result.report.levels.push_back({capsule::Level::kReplay,
                                  "every tensor of steps 2 to 3",
                                  "bit for bit",
                                  repro::LevelVerdict::kNotJudged,
                                  {"there is no state to go on from"},
                                  {},
                                  {}});
  return result;
}

repro::Convergence hostile_convergence() {
  auto result = convergence_of({5, 20, 0, 1});
  for (std::string* text : {&result.reason, &result.command, &result.notes.front(),
                            &result.pairs.front(), &result.metrics.front().test.reason}) {
    *text = hostile("text {{ticket}} {{{script}}}");
  }
  return result;
}

LevelResult hostile_levels() {
  LevelResult result = level_result();
  auto& level = result.report.levels.front();
  for (std::string* text : {&result.report.question, &level.observable, &level.threshold,
                            &level.evidence.front(), &level.commands.front()}) {
    *text = hostile("text");
  }
  level.artifacts.front() = hostile("file");
  result.convergence = hostile_convergence();
  return result;
}

repro::Convergence through_file(const repro::Convergence& result) {
  const Folder folder;
  const auto file = folder.write("c.json", repro::to_json(result).dump(2));
  return std::get<repro::Convergence>(read_result(file).content);
}

LevelResult through_file(const LevelResult& result) {
  const Folder folder;
  const auto file = folder.write("levels.json", json_of(result).dump(2));
  return std::get<LevelResult>(read_result(file).content);
}

}  // namespace nanhunt::report::test
