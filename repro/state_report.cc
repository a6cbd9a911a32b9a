// SPDX-License-Identifier: Apache-2.0
#include "repro/state_report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>

#include "compare/numbers.h"

namespace nanhunt::repro {
namespace {

constexpr size_t kMostKeys = 4;

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

std::string joined(const std::vector<std::string>& parts) { return compare::join(parts, ", "); }

std::string list_of(const StateComparison& state, bool in_a, bool in_b) {
  std::vector<std::string> names;
  for (const NotCompared& absent : state.absent) {
    if (absent.in_a == in_a && absent.in_b == in_b)
      names.emplace_back(capsule::facts_of(absent.kind).name);
  }
  return joined(names);
}

// What was not compared, why, and the level that it leaves open.
void add_absent(LevelReport& level, const StateComparison& state) {
  const std::pair<std::pair<bool, bool>, const char*> cases[] = {
      {{true, false}, "not compared, B does not have them: "},
      {{false, true}, "not compared, A does not have them: "},
      {{true, true}, "not compared, bound to layouts that differ or under other names: "},
      {{false, false}, "not compared, neither has them: "}};
  for (const auto& [in, words] : cases) {
    const std::string names = list_of(state, in.first, in.second);
    if (!names.empty()) level.evidence.push_back(words + names);
  }
  for (const capsule::Level broken : {capsule::Level::kState, capsule::Level::kReplay}) {
    std::vector<std::string> names;
    for (const NotCompared& absent : state.absent) {
      const auto& facts = capsule::facts_of(absent.kind);
      if (facts.breaks == broken) names.emplace_back(facts.name);
    }
    if (names.empty()) continue;
    level.evidence.push_back("level " + std::string(capsule::name_of(broken)) +
                             " is open: it breaks where one of these differs: " + joined(names));
  }
}

void add_not_read(LevelReport& level, const char* side, const State& state) {
  if (state.not_read.empty()) return;
  level.evidence.push_back(std::string("not read here, ") + side + ": " + joined(state.not_read) +
                           " (pickle); convert with: python -m nanhunt.checkpoint " +
                           state.path.string() + " OUT, and compare OUT");
}

std::string run_text(const checkpoint::TrainerState& trainer) {
  std::vector<std::string> parts;
  if (trainer.step) parts.push_back("step " + std::to_string(*trainer.step));
  if (trainer.epoch) parts.push_back("epoch " + number(*trainer.epoch));
  if (!trainer.loss.empty()) {
    parts.push_back("last loss " + number(trainer.loss.back().second) + " at step " +
                    std::to_string(trainer.loss.back().first));
  }
  return joined(parts);
}

bool same(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

// Of the steps that both have.
std::string losses_text(const checkpoint::TrainerState& a, const checkpoint::TrainerState& b) {
  const std::map<int64_t, double> other(b.loss.begin(), b.loss.end());
  int64_t shared = 0;
  for (const auto& [step, loss] : a.loss) {
    const auto at = other.find(step);
    if (at == other.end()) continue;
    ++shared;
    if (same(loss, at->second)) continue;
    return "loss histories part at step " + std::to_string(step) + ": " + number(loss) + " in A, " +
           number(at->second) + " in B";
  }
  return shared == 0
             ? ""
             : "loss histories agree in all " + std::to_string(shared) + " steps that both have";
}

void add_runs(LevelReport& level, const State& a, const State& b) {
  for (const auto& [side, state] : {std::pair("A", &a), std::pair("B", &b)}) {
    if (!state->trainer) continue;
    level.evidence.push_back(std::string("trainer_state.json of ") + side + ": " +
                             run_text(*state->trainer));
  }
  if (!a.trainer || !b.trainer) return;
  const std::string losses = losses_text(*a.trainer, *b.trainer);
  if (!losses.empty()) level.evidence.push_back(losses);
}

void add_config(LevelReport& level, const State& a, const State& b) {
  if (a.config.empty() || b.config.empty()) return;
  std::set<std::string> keys;
  for (const State* side : {&a, &b}) {
    for (const auto& [key, value] : side->config) keys.insert(key);
  }
  std::vector<std::string> apart;
  for (const std::string& key : keys) {
    const auto value = [&](const State& side) {
      const auto at = side.config.find(key);
      return at == side.config.end() ? std::string("nothing") : at->second;
    };
    if (value(a) != value(b))
      apart.push_back(key + " is " + value(a) + " in A, " + value(b) + " in B");
  }
  if (apart.empty()) return;
  const std::string more =
      apart.size() > kMostKeys ? " and " + std::to_string(apart.size() - kMostKeys) + " more" : "";
  apart.resize(std::min(apart.size(), kMostKeys));
  level.evidence.push_back(
      "config.json differs, which is no state and makes other steps: " + joined(apart) + more);
}

}  // namespace

LevelReport empty_state_level(const std::filesystem::path& a, const std::string& name_of_a,
                              const std::filesystem::path& b, const std::string& name_of_b) {
  LevelReport level;
  level.level = capsule::Level::kState;
  level.observable =
      "parameters, masters, moments, counters, settings, RNG, cursor and batch of A " + name_of_a +
      " and B " + name_of_b + ", as logical tensors";
  level.threshold = "equal values; layout-bound state in the same layout only";
  level.artifacts = {a, b};
  level.commands = {"nanhunt repro --state " + name_of_a + " " + name_of_b};
  return level;
}

void judge_state(LevelReport& level, const StateComparison& state) {
  level.verdict = state.differences.empty() ? LevelVerdict::kEqual : LevelVerdict::kDifferent;
  level.evidence.push_back(std::to_string(state.equal) + " of " + std::to_string(state.tensors) +
                           " tensors are equal");
  for (const capsule::Kind kind : state.compared)
    level.of.emplace_back(capsule::facts_of(kind).name);
  for (const auto& difference : state.differences)
    level.evidence.push_back(difference.tensor + " " + difference.what);
  for (const auto& fault : state.broken_alike)
    level.evidence.push_back(fault + ", in A and B alike");
  for (const auto& line : state.not_compared) level.evidence.push_back(line);
}

Report state_and_state(const State& a, const State& b, const oracle::Thresholds& thresholds) {
  Report report;
  report.thresholds_sha256 = thresholds.sha256();
  report.question = "state of " + a.name + " against " + b.name;
  LevelReport level = empty_state_level(a.path, a.name, b.path, b.name);
  const StateComparison state = compare_state(a, b);
  judge_state(level, state);
  // Last, as they can be many.
  const std::vector<std::string> apart = state.not_compared;
  level.evidence.resize(level.evidence.size() - apart.size());
  if (a.foreign || b.foreign) {
    level.observable = "what A " + a.name + " and B " + b.name + " both have, as logical tensors";
    add_absent(level, state);
    add_not_read(level, "A", a);
    add_not_read(level, "B", b);
    add_runs(level, a, b);
    add_config(level, a, b);
  }
  level.evidence.insert(level.evidence.end(), apart.begin(), apart.end());
  report.levels.push_back(std::move(level));
  return report;
}

}  // namespace nanhunt::repro
