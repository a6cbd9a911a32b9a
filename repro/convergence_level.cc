// SPDX-License-Identifier: Apache-2.0
#include "repro/convergence_level.h"

#include <nlohmann/json.hpp>

#include "ablate/shell_words.h"
#include "compare/numbers.h"
#include "trace/error.h"

namespace nanhunt::repro {
namespace {

using compare::short_number;

constexpr size_t kHashShown = 16;

LevelVerdict verdict_of(Decision decision) {
  switch (decision) {
    case Decision::kEquivalent:
      return LevelVerdict::kWithin;
    case Decision::kDifferent:
      return LevelVerdict::kDifferent;
    case Decision::kUnknown:
      break;
  }
  return LevelVerdict::kUnknown;
}

// To the last bit, as a margin is registered.
std::string exactly(double number) {
  return nlohmann::json(number).dump();
}

std::string margins_text(const Criteria& criteria) {
  std::vector<std::string> parts;
  for (const Criterion& criterion : criteria.criteria)
    parts.push_back(std::string(name_of(criterion.metric)) + " " + margin_text(criterion.margin));
  return compare::join(parts, ", ");
}

std::string threshold_text(const Criteria& criteria) {
  return "margins " + margins_text(criteria) + ", two one-sided t tests at " +
         short_number(criteria.alpha) + "; thresholds " + sha256(criteria).substr(0, kHashShown);
}

std::string metric_text(const MetricResult& metric) {
  std::string text = std::string(name_of(metric.metric)) + ": " +
                     std::string(name_of(metric.test.decision)) + ", " + metric.test.reason;
  if (metric.spread) {
    text += "; A/A sd " + short_number(metric.spread->sd) + " of " +
            std::to_string(metric.spread->pairs) + " pairs";
  }
  if (metric.power) text += "; power " + short_number(*metric.power);
  return text;
}

LevelReport level_with(const Criteria& criteria) {
  LevelReport level;
  level.level = capsule::Level::kConvergence;
  level.threshold = threshold_text(criteria);
  return level;
}

void add_files(LevelReport& level, const std::vector<CurvePair>& pairs) {
  for (const CurvePair& pair : pairs) {
    level.artifacts.push_back(pair.a.path);
    level.artifacts.push_back(pair.b.path);
  }
}

std::string observable_of(const PairedPlan& plan) {
  const bool resume = plan.pairing == Pairing::kResume;
  return "loss of steps " + (resume ? std::to_string(plan.at) + " to " : std::string("up to ")) +
         std::to_string(plan.steps - 1) + ", " + std::to_string(plan.seeds) + " seeds; A " +
         (resume ? "straight, B resumed" : "reference side, B failing side");
}

}  // namespace

std::string pair_command(const Criteria& criteria, const PairedCurves& curves) {
  std::vector<std::string> words{"nanhunt", "repro"};
  for (const Criterion& criterion : criteria.criteria) {
    words.push_back("--margin");
    words.push_back(std::string(name_of(criterion.metric)) + "=" + exactly(criterion.margin.value) +
                    (criterion.margin.of_deviation ? "sd" : ""));
  }
  const Criteria usual;
  const auto add = [&](const char* option, double value, double if_not) {
    if (value == if_not) return;
    words.push_back(option);
    words.push_back(exactly(value));
  };
  add("--alpha", criteria.alpha, usual.alpha);
  add("--early", criteria.fractions.early, usual.fractions.early);
  add("--late", criteria.fractions.late, usual.fractions.late);
  const auto add_pairs = [&](const char* option, const std::vector<CurvePair>& pairs) {
    for (const CurvePair& pair : pairs) {
      words.push_back(option);
      words.push_back(pair.a.path.string() + "=" + pair.b.path.string());
    }
  };
  add_pairs("--pair", curves.pairs);
  add_pairs("--aa", curves.same);
  return ablate::quoted(words);
}

LevelReport convergence_not_judged(const std::string& why) {
  LevelReport level;
  level.level = capsule::Level::kConvergence;
  level.observable = "loss curves of several seeds";
  level.threshold = "a margin, fixed before";
  level.evidence = {why};
  return level;
}

LevelReport level_of(const Convergence& result, const std::string& command) {
  LevelReport level = level_with(result.criteria);
  level.observable = "loss curves of " + std::to_string(result.pairs.size()) + " seeds";
  level.verdict = verdict_of(result.decision);
  level.evidence.push_back(std::string(name_of(result.decision)) + ": " + result.reason);
  for (const MetricResult& metric : result.metrics) level.evidence.push_back(metric_text(metric));
  for (const std::string& note : result.notes) level.evidence.push_back(note);
  level.commands = {command};
  level.convergence = result;
  return level;
}

LevelReport convergence_level(ablate::Bench& bench, const PairedPlan& plan) {
  try {
    const PairedCurves curves = run_pairs(bench, plan);
    LevelReport level = level_of(judge(plan.criteria, curves.pairs, curves.same),
                                 pair_command(plan.criteria, curves));
    level.observable = observable_of(plan);
    add_files(level, curves.pairs);
    add_files(level, curves.same);
    return level;
  } catch (const trace::Error& error) {
    // The other levels were judged: what stopped this one must not take them along.
    if (error.kind() == trace::ErrorKind::kInternal) throw;
    LevelReport level = level_with(plan.criteria);
    level.observable = observable_of(plan);
    level.verdict = LevelVerdict::kUnknown;
    level.evidence = {error.what()};
    level.artifacts = {bench.runner().work()};
    level.commands = {plan.again};
    return level;
  }
}

}  // namespace nanhunt::repro
