// SPDX-License-Identifier: Apache-2.0
#include "repro/upgrade_parts.h"

#include "capsule/capsule.h"
#include "repro/configuration_differences.h"
#include "repro/levels.h"
#include "repro/state_report.h"
#include "repro/names.h"
#include "repro/placement_differences.h"

namespace nanhunt::repro {
namespace {

using capsule::Capsule;
using capsule::Level;

void add(std::vector<std::string>& evidence, const std::vector<std::string>& lines,
         const std::string& before = "") {
  for (const std::string& line : lines) evidence.push_back(before + line);
}

LevelReport part(Level level, const std::string& name, const std::string& observable,
                 const std::string& threshold) {
  LevelReport made;
  made.level = level;
  made.part = name;
  made.observable = observable;
  made.threshold = threshold;
  return made;
}

LevelReport configuration(const BuildPair& builds) {
  LevelReport level =
      part(Level::kReplay, "configuration",
           "facts of both runs, and attributes of their ops at step " + std::to_string(builds.at),
           "no op computes another formula; facts are told, not judged");
  const auto found =
      compare_configurations(trace::TraceReader(builds.a.trace), trace::TraceReader(builds.b.trace),
                             builds.at, builds.intended);
  level.verdict = !found.formulas.empty() ? LevelVerdict::kDifferent
                  : found.facts.empty() && found.one_sided.empty() && found.intended.empty()
                      ? LevelVerdict::kEqual
                      : LevelVerdict::kWithin;
  add(level.evidence, found.formulas, "computes another formula: ");
  add(level.evidence, found.intended, "another formula, as intended: ");
  add(level.evidence, found.one_sided);
  add(level.evidence, found.facts);
  level.artifacts = {builds.a.trace, builds.b.trace};
  level.commands = {"nanhunt repro --runs " + builds.a.trace.string() + " " +
                    builds.b.trace.string()};
  return level;
}

LevelReport names(const BuildPair& builds) {
  LevelReport level = part(Level::kState, "names", "names of parameters and sites of both builds",
                           "each parameter has its name in both; sites are told, not judged");
  const Capsule start_a(builds.a.capsules, builds.first), start_b(builds.b.capsules, builds.first),
      later_a(builds.a.capsules, builds.at), later_b(builds.b.capsules, builds.at),
      end_a(builds.a.capsules, builds.end), end_b(builds.b.capsules, builds.end);
  const auto found = compare_names({{&start_a, &start_b}, {&later_a, &later_b}, {&end_a, &end_b}});
  const auto sites = compare_sites(trace::TraceReader(builds.a.trace).read_step(builds.at),
                                   trace::TraceReader(builds.b.trace).read_step(builds.at));
  for (const auto& [mine, other] : found.renamed)
    level.evidence.push_back("renamed: " + mine + " in A is " + other +
                             " in B: the same shape and values");
  for (const auto& [mine, other] : found.guessed)
    level.evidence.push_back("may be renamed: " + mine + " in A, " + other +
                             " in B: the same shape, and one constant at the start");
  add(level.evidence, found.only_a, "parameter in A only: ");
  add(level.evidence, found.only_b, "parameter in B only: ");
  add(level.evidence, sites.only_a, "site in A only: ");
  add(level.evidence, sites.only_b, "site in B only: ");
  level.verdict = found.any()                                    ? LevelVerdict::kDifferent
                  : sites.only_a.empty() && sites.only_b.empty() ? LevelVerdict::kEqual
                                                                 : LevelVerdict::kWithin;
  level.artifacts = {builds.a.capsules, builds.b.capsules};
  level.commands = {"nanhunt show " + builds.a.capsules.string(),
                    "nanhunt show " + builds.b.capsules.string()};
  return level;
}

LevelReport placements(const BuildPair& builds, bool& shapes_differ) {
  LevelReport level = part(Level::kState, "placements",
                           "shape, type and placement of each parameter that both have",
                           "one logical shape and type; how it is kept is told, not judged");
  const auto found = compare_placements(Capsule(builds.a.capsules, builds.first),
                                        Capsule(builds.b.capsules, builds.first));
  level.verdict = found.empty() ? LevelVerdict::kEqual : LevelVerdict::kWithin;
  for (const auto& each : found) {
    level.evidence.push_back(each.tensors + " " + each.what);
    shapes_differ = shapes_differ || each.of_state;
  }
  if (shapes_differ) level.verdict = LevelVerdict::kDifferent;
  level.artifacts = {builds.a.capsules, builds.b.capsules};
  level.commands = {"nanhunt show " + builds.a.capsules.string(),
                    "nanhunt show " + builds.b.capsules.string()};
  return level;
}

LevelReport fresh_start(const BuildPair& builds) {
  const At a{builds.a.capsules, builds.first}, b{builds.b.capsules, builds.first};
  LevelReport level = state_level(a, b);
  level.part = "fresh start";
  judge_state(level, compare_capsules(a, b));
  return level;
}

}  // namespace

OwnParts compare_builds(const BuildPair& builds) {
  OwnParts parts;
  parts.levels.push_back(configuration(builds));
  parts.levels.push_back(names(builds));
  parts.names_differ = parts.levels.back().verdict == LevelVerdict::kDifferent;
  parts.levels.push_back(placements(builds, parts.shapes_differ));
  parts.levels.push_back(fresh_start(builds));
  return parts;
}

}  // namespace nanhunt::repro
