// SPDX-License-Identifier: Apache-2.0
#include "repro/case_report.h"

#include <numeric>
#include <optional>

#include "ablate/shell_words.h"
#include "compare/judge.h"
#include "repro/convergence_level.h"
#include "repro/state_level.h"
#include "trace/error.h"

namespace nanhunt::repro {
namespace {

using ablate::Bench;
using ablate::Run;
using ablate::Scope;
using capsule::Capsule;

constexpr const char* kNoState = "there is no state to go on from";

struct At {
  std::filesystem::path folder;
  int64_t step = 0;

  std::string text() const { return folder.string() + "@" + std::to_string(step); }
};

LevelReport state_level(const At& a, const At& b) {
  LevelReport level;
  level.level = capsule::Level::kState;
  level.observable =
      "parameters, masters, moments, counters, settings, RNG, cursor and batch of A " + a.text() +
      " and B " + b.text() + ", as logical tensors";
  level.threshold = "equal values; layout-bound state in the same layout only";
  level.artifacts = {a.folder, b.folder};
  level.commands = {"nanhunt repro --state " + a.text() + " " + b.text()};
  return level;
}

void judge_state(LevelReport& level, const StateComparison& state) {
  level.verdict = state.differences.empty() ? LevelVerdict::kEqual : LevelVerdict::kDifferent;
  level.evidence.push_back(std::to_string(state.equal) + " of " + std::to_string(state.tensors) +
                           " tensors are equal");
  for (const auto& difference : state.differences)
    level.evidence.push_back(difference.tensor + " " + difference.what);
  for (const auto& name : state.not_compared)
    level.evidence.push_back(name + " is bound to its layout: not compared, rebuilt on load");
}

// A state whose own ranks disagree is refused by whoever would load it: that is the finding.
// nullopt when they agree.
std::optional<Report> contradiction_report(Report report, const At& saved) {
  const Capsule capsule(saved.folder, saved.step);
  capsule.require_whole(true);
  if (capsule.faults().empty()) return std::nullopt;
  LevelReport state = state_level(saved, saved);
  state.verdict = LevelVerdict::kDifferent;
  state.commands = {"nanhunt scan " + saved.folder.string()};
  state.evidence.push_back(
      "the ranks of the run that saved it disagree: nothing can go on from it");
  for (const auto& fault : capsule.faults()) state.evidence.push_back(fault.what);
  LevelReport replay;
  replay.level = capsule::Level::kReplay;
  replay.observable = "every tensor of the steps after it";
  replay.threshold = "bit for bit, or the envelope";
  replay.evidence = {kNoState};
  report.levels = {state, replay, convergence_not_judged(kNoState)};
  return report;
}

void check_it_ran(const Run& run, const std::string& purpose) {
  if (!run.ended_well())
    throw trace::Error(trace::ErrorKind::kUnreadable, purpose + ": " + run.complaint());
}

// "decoder.layers.1.mlp.linear_fc1 forward output, step 2: same_bits measured 12, allowed 0"
std::string first_finding(const compare::Verdict& verdict) {
  if (verdict.origins.empty()) return verdict.reason;
  const auto& finding = verdict.origins.front().finding;
  return "first: " + trace::describe(finding.what) + ", rule " + finding.rule + ": " +
         finding.evidence;
}

LevelReport replay_level(const Run& candidate, const Run& reference, int64_t at, int64_t steps) {
  LevelReport level;
  level.level = capsule::Level::kReplay;
  level.observable = "every tensor of steps " + std::to_string(at) + " to " +
                     std::to_string(steps - 1) + ", captured in full on both sides";
  level.artifacts = {candidate.trace, reference.trace};
  return level;
}

// The level's verdict of a comparison; `clean` is what a clean one means for it.
void conclude(LevelReport& level, const compare::Verdict& verdict, LevelVerdict clean) {
  const bool is_clean = verdict.kind == compare::VerdictKind::kClean;
  level.verdict = is_clean                  ? clean
                  : verdict.origins.empty() ? LevelVerdict::kUnknown
                                            : LevelVerdict::kDifferent;
  level.evidence.push_back(std::to_string(verdict.coverage.records_compared) + " of " +
                           std::to_string(verdict.coverage.records) + " records compared");
  if (!is_clean) level.evidence.push_back(first_finding(verdict));
}

void judge_bits(LevelReport& level, const Run& candidate, const Run& reference,
                const oracle::Thresholds& thresholds) {
  compare::JudgeOptions options;
  options.same_layout = true;
  options.replay = false;
  const auto verdict =
      compare::compare_traces(trace::TraceReader(candidate.trace),
                              trace::TraceReader(reference.trace), thresholds, options);
  level.threshold = "bit for bit, rank by rank";
  level.commands = {"nanhunt compare --same-layout " + candidate.trace.string() + " " +
                    reference.trace.string()};
  conclude(level, verdict, LevelVerdict::kEqual);
}

void judge_envelope(LevelReport& level, Bench& bench, const Run& candidate, const Run& reference,
                    const Scope& scope) {
  const auto verdict = bench.judge(candidate, reference, scope);
  level.threshold = "exact rules, and the envelope of perturbed runs of the reference side";
  level.commands = {"nanhunt compare " + candidate.trace.string() + " " + reference.trace.string()};
  conclude(level, verdict, LevelVerdict::kWithin);
}

StateComparison compare(const At& a, const At& b) {
  return compare_state(Capsule(a.folder, a.step), Capsule(b.folder, b.step));
}

// The state that the steps left.
void judge_end(LevelReport& level, const StateComparison& start, const StateComparison& end) {
  const auto made = differences_made(start, end);
  level.evidence.push_back("state after them: " + std::to_string(end.equal) + " of " +
                           std::to_string(end.tensors) + " tensors are equal, " +
                           std::to_string(made.size()) + " differ that were equal before");
  if (made.empty()) return;
  level.evidence.push_back("first of them: " + made.front().tensor + " " + made.front().what);
  level.verdict = LevelVerdict::kDifferent;
}

LevelReport curves_level(Bench& bench, const std::optional<PairedPlan>& plan, Pairing pairing) {
  if (plan) return convergence_level(bench, *plan);
  std::vector<std::string> words{"nanhunt", "repro", bench.the_case().path.string()};
  if (pairing == Pairing::kLayouts && !bench.the_case().layouts) words.push_back("--layouts");
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

Scope full_scope(const Bench& bench, int64_t at) {
  Scope scope;
  scope.steps = bench.the_case().steps;
  scope.level = trace::Level::kFull;
  for (int64_t step = at; step < scope.steps; ++step) scope.captured.push_back(step);
  // Both `at` and the end are multiples of it.
  scope.capsules.every = std::gcd(at, scope.steps);
  return scope;
}

void check_step(const Bench& bench, int64_t at) {
  if (at > 0 && at < bench.the_case().steps) return;
  throw trace::Error(trace::ErrorKind::kUsage, "step " + std::to_string(at) +
                                                   " is not inside the case's " +
                                                   std::to_string(bench.the_case().steps) +
                                                   " steps; --at and --steps set them");
}

Run run(Bench& bench, const std::string& purpose, const ablate::Settings& settings,
        const Scope& scope) {
  const Run made = bench.runner().run(bench.request(purpose, settings, scope));
  check_it_ran(made, purpose);
  return made;
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
  const auto state = compare(saved, loaded);
  report.levels.push_back(state_level(saved, loaded));
  judge_state(report.levels.back(), state);
  report.levels.push_back(replay_level(resumed, straight, at, scope.steps));
  judge_bits(report.levels.back(), resumed, straight, thresholds);
  judge_end(report.levels.back(), state,
            compare({saved.folder, scope.steps}, {loaded.folder, scope.steps}));
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
  judge_state(report.levels.back(), compare(saved, loaded));
  report.levels.push_back(replay_level(first, second, at, scope.steps));
  judge_envelope(report.levels.back(), bench, first, second, scope);
  report.levels.push_back(curves_level(bench, plan, Pairing::kLayouts));
  return report;
}

Report state_and_state(const std::filesystem::path& a, int64_t step_of_a,
                       const std::filesystem::path& b, int64_t step_of_b,
                       const oracle::Thresholds& thresholds) {
  Report report;
  report.thresholds_sha256 = thresholds.sha256();
  const At first{a, Capsule(a, step_of_a).step().step},
      second{b, Capsule(b, step_of_b).step().step};
  report.question = "capsule " + first.text() + " against " + second.text();
  report.levels.push_back(state_level(first, second));
  judge_state(report.levels.back(), compare(first, second));
  return report;
}

}  // namespace nanhunt::repro
