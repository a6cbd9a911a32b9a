// SPDX-License-Identifier: Apache-2.0
#include "repro/levels.h"

#include <string>

#include "compare/judge.h"
#include "repro/convergence_level.h"
#include "trace/error.h"

namespace nanhunt::repro {

using capsule::Capsule;
namespace fs = std::filesystem;

namespace {

constexpr const char* kNoState = "there is no state to go on from";

// "decoder.layers.1.mlp.linear_fc1 forward output, step 2: same_bits measured 12, allowed 0"
std::string first_finding(const compare::Verdict& verdict) {
  if (verdict.origins.empty()) return verdict.reason;
  const auto& finding = verdict.origins.front().finding;
  return "first: " + trace::describe(finding.what) + ", rule " + finding.rule + ": " +
         finding.evidence;
}

}  // namespace

std::string At::text() const {
  return folder.string() + "@" + std::to_string(step);
}

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

void conclude(LevelReport& level, const compare::Verdict& verdict, LevelVerdict clean) {
  const bool is_clean = verdict.kind == compare::VerdictKind::kClean;
  level.verdict = is_clean                  ? clean
                  : verdict.origins.empty() ? LevelVerdict::kUnknown
                                            : LevelVerdict::kDifferent;
  level.evidence.push_back(std::to_string(verdict.coverage.records_compared) + " of " +
                           std::to_string(verdict.coverage.records) + " records compared");
  if (!is_clean) level.evidence.push_back(first_finding(verdict));
}

LevelReport replay_level(const fs::path& candidate, const fs::path& reference, int64_t first,
                         int64_t last) {
  LevelReport level;
  level.level = capsule::Level::kReplay;
  level.observable = "every tensor of steps " + std::to_string(first) + " to " +
                     std::to_string(last) + ", captured in full on both sides";
  level.artifacts = {candidate, reference};
  return level;
}

void judge_bits(LevelReport& level, const fs::path& candidate, const fs::path& reference,
                const oracle::Thresholds& thresholds) {
  compare::JudgeOptions options;
  options.same_layout = true;
  options.replay = false;
  const auto verdict = compare::compare_traces(trace::TraceReader(candidate),
                                               trace::TraceReader(reference), thresholds, options);
  level.threshold = "bit for bit, rank by rank";
  level.commands = {"nanhunt compare --same-layout " + candidate.string() + " " +
                    reference.string()};
  conclude(level, verdict, LevelVerdict::kEqual);
}

StateComparison compare_capsules(const At& a, const At& b) {
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

}  // namespace nanhunt::repro
