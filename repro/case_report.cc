// SPDX-License-Identifier: Apache-2.0
#include "repro/case_report.h"

#include "ablate/shell_words.h"
#include "repro/case_runs.h"
#include "repro/convergence_level.h"
#include "repro/levels.h"
#include "repro/state_report.h"

namespace nanhunt::repro {

using ablate::Bench;
using ablate::Run;
using ablate::Scope;
using capsule::Capsule;

namespace {

LevelReport curves_level(Bench& bench, const std::optional<PairedPlan>& plan, Pairing pairing) {
  if (plan) return convergence_level(bench, *plan);
  std::vector<std::string> words{"nanhunt", "repro", bench.the_case().path.string()};
  if (pairing == Pairing::kLayouts && bench.the_case().repro != ablate::Question::kLayouts)
    words.push_back("--layouts");
  for (const char* word : {"--seeds", "5", "--margin", "2sd"}) words.push_back(word);
  return convergence_not_judged("needs runs of several seeds: " + ablate::quoted(words));
}

// Of a subject that cannot save its state: whole runs are all there is.
Report curves_alone(Bench& bench, const oracle::Thresholds& thresholds, const PairedPlan& plan) {
  const auto& the_case = bench.the_case();
  Report report{ablate::describe(the_case.subject, the_case.failing) + " against " +
                    ablate::describe(the_case.subject, the_case.reference),
                {},
                thresholds.sha256()};
  const std::string why =
      the_case.subject.path.string() + " has no `capsules =`: its runs cannot be saved";
  for (const auto level : {capsule::Level::kState, capsule::Level::kReplay}) {
    LevelReport none;
    none.level = level;
    none.observable = level == capsule::Level::kState ? "the state that was saved"
                                                      : "every tensor of the steps after it";
    none.threshold = "none";
    none.evidence = {why};
    report.levels.push_back(none);
  }
  report.levels.push_back(convergence_level(bench, plan));
  return report;
}

}  // namespace

Report save_and_resume(Bench& bench, const oracle::Thresholds& thresholds, int64_t at,
                       const std::optional<PairedPlan>& plan) {
  check_step(bench, at);
  Scope scope = full_scope(bench, at);
  const auto& settings = bench.the_case().failing;
  Report report{
      "save at step " + std::to_string(at) + " and resume there, against the straight run",
      {},
      thresholds.sha256()};
  const Run straight = run(bench, "straight run", settings, scope);
  const At saved{straight.capsules(), at};
  if (auto refused = contradiction_report(report, saved)) return *refused;
  scope.capsules.resume = saved.folder;
  scope.capsules.resume_step = at;
  const Run resumed = run(bench, "resumed run", settings, scope);
  const At loaded{resumed.capsules(), at};
  const auto state = compare_capsules(saved, loaded);
  report.levels.push_back(state_level(saved, loaded));
  judge_state(report.levels.back(), state);
  report.levels.push_back(replay_level(resumed.trace, straight.trace, at, scope.steps - 1));
  judge_bits(report.levels.back(), resumed.trace, straight.trace, thresholds);
  judge_end(report.levels.back(), state,
            compare_capsules({saved.folder, scope.steps}, {loaded.folder, scope.steps}));
  report.levels.push_back(curves_level(bench, plan, Pairing::kResume));
  return report;
}

Report layout_and_layout(Bench& bench, const oracle::Thresholds& thresholds, int64_t at,
                         const std::optional<PairedPlan>& plan) {
  const auto& the_case = bench.the_case();
  if (plan && the_case.subject.capsules.empty()) return curves_alone(bench, thresholds, *plan);
  check_step(bench, at);
  Scope scope = full_scope(bench, at);
  Report report{"saved at step " + std::to_string(at) + " with " +
                    ablate::describe(the_case.subject, the_case.failing) + ", resumed with " +
                    ablate::describe(the_case.subject, the_case.reference),
                {},
                thresholds.sha256()};
  const Run first = run(bench, "side that saves", the_case.failing, scope);
  const At saved{first.capsules(), at};
  if (auto refused = contradiction_report(report, saved)) {
    // Whole runs need no state to go on from.
    if (plan) refused->levels.back() = curves_level(bench, plan, Pairing::kLayouts);
    return *refused;
  }
  scope.capsules.resume = saved.folder;
  scope.capsules.resume_step = at;
  const Run second = run(bench, "reference side, from the capsule", the_case.reference, scope);
  const At loaded{second.capsules(), at};
  report.levels.push_back(state_level(saved, loaded));
  judge_state(report.levels.back(), compare_capsules(saved, loaded));
  report.levels.push_back(replay_level(first.trace, second.trace, at, scope.steps - 1));
  judge_envelope(report.levels.back(), bench, first, second, scope);
  report.levels.push_back(curves_level(bench, plan, Pairing::kLayouts));
  return report;
}

}  // namespace nanhunt::repro
