// SPDX-License-Identifier: Apache-2.0
#include "repro/levels.h"

#include <algorithm>
#include <map>
#include <string>

#include "compare/judge.h"
#include "compare/numbers.h"
#include "repro/convergence_level.h"
#include "repro/state_report.h"
#include "trace/error.h"

namespace nanhunt::repro {

using capsule::Capsule;
namespace fs = std::filesystem;

namespace {

constexpr const char* kNoState = "there is no state to go on from";

// A reference that breaks a rule by itself is no measure: what it alone, or both, break is no
// difference between the two. nullptr without one.
const compare::Origin* first_difference(const compare::Verdict& verdict) {
  const auto found = std::ranges::find_if(verdict.origins, [](const compare::Origin& origin) {
    return origin.blame == compare::Blame::kCandidate || origin.blame == compare::Blame::kUndecided;
  });
  return found == verdict.origins.end() ? nullptr : &*found;
}

// "first: step 2 decoder.layers.1.mlp.linear_fc1 forward output, rule same_bits: ..."
std::string first_finding(const compare::Verdict& verdict) {
  if (verdict.origins.empty() || !verdict.controls_passed) return verdict.reason;
  const compare::Origin* difference = first_difference(verdict);
  const auto& finding = (difference != nullptr ? *difference : verdict.origins.front()).finding;
  return std::string(difference != nullptr ? "first: " : "in A already: ") +
         trace::describe(finding.what) + ", rule " + finding.rule + ": " + finding.evidence;
}

// "loss: 1 judged, at most 0.12 of what is allowed: step 2 loss, loss, output"; of the step that
// came closest to a bound.
void add_phases(LevelReport& level, const compare::Verdict& verdict) {
  struct Phase {
    int judged = 0;
    const compare::Measurement* largest = nullptr;
  };
  std::map<trace::Phase, Phase> phases;
  for (const compare::Measurement& measurement : verdict.measurements) {
    Phase& phase = phases[measurement.what.phase];
    ++phase.judged;
    if (phase.largest == nullptr ||
        compare::excess(measurement) > compare::excess(*phase.largest)) {
      phase.largest = &measurement;
    }
  }
  for (const auto& [name, phase] : phases) {
    level.evidence.push_back(std::string(trace::name_of(name)) + ": " +
                             std::to_string(phase.judged) + " judged, at most " +
                             compare::short_number(compare::excess(*phase.largest)) +
                             " of what is allowed: " + trace::describe(phase.largest->what));
  }
}

}  // namespace

std::string At::text() const {
  return folder.string() + "@" + std::to_string(step);
}

LevelReport state_level(const At& a, const At& b) {
  return empty_state_level(a.folder, a.text(), b.folder, b.text());
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
  level.verdict = is_clean                               ? clean
                  : !verdict.controls_passed             ? LevelVerdict::kUnknown
                  : first_difference(verdict) != nullptr ? LevelVerdict::kDifferent
                                                         : LevelVerdict::kUnknown;
  level.evidence.push_back(std::to_string(verdict.coverage.records_compared) + " of " +
                           std::to_string(verdict.coverage.records) + " records compared");
  if (!is_clean) level.evidence.push_back(first_finding(verdict));
  if (level.verdict == LevelVerdict::kWithin) add_phases(level, verdict);
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

compare::Verdict compare_bits(const trace::TraceReader& candidate,
                              const trace::TraceReader& reference,
                              const oracle::Thresholds& thresholds) {
  compare::JudgeOptions options;
  options.same_layout = true;
  options.own_rules = false;
  return compare::compare_traces(candidate, reference, thresholds, options);
}

bool same_mesh(const trace::TraceReader& a, const trace::TraceReader& b) {
  return a.world_size() == b.world_size() &&
         a.facts().front().mesh_size == b.facts().front().mesh_size;
}

void judge_bits(LevelReport& level, const compare::Verdict& bits) {
  level.threshold = "bit for bit, rank by rank";
  conclude(level, bits, LevelVerdict::kEqual);
  // What only one of them has was held against nothing.
  for (const auto& [side, records] :
       {std::pair("A", &bits.coverage.missing), std::pair("B", &bits.coverage.extra)}) {
    if (records->empty()) continue;
    level.evidence.push_back(std::string("in ") + side + " only: " + records->front() +
                             (records->size() > 1
                                  ? ", and " + std::to_string(records->size() - 1) + " other kinds"
                                  : ""));
    if (level.verdict == LevelVerdict::kEqual) level.verdict = LevelVerdict::kUnknown;
  }
}

void judge_bits(LevelReport& level, const fs::path& candidate, const fs::path& reference,
                const oracle::Thresholds& thresholds) {
  judge_bits(level, compare_bits(trace::TraceReader(candidate), trace::TraceReader(reference),
                                 thresholds));
  level.commands = {"nanhunt repro --runs " + reference.string() + " " + candidate.string()};
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
