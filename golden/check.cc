// SPDX-License-Identifier: Apache-2.0
#include "golden/check.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "compare/configuration.h"
#include "compare/measurements.h"
#include "compare/numbers.h"
#include "compare/precedence.h"
#include "golden/curve_judge.h"
#include "golden/step_judge.h"
#include "trace/error.h"

namespace nanhunt::golden {
namespace {

using compare::SideStep;

const Table& table_for(const Golden& golden, const compare::TraceSource& run) {
  const std::string places = places_hash(run);
  for (const Table& table : golden.tables) {
    if (table.places == places) return table;
  }
  return golden.across;
}

// What starts a program has no part in what it computes.
bool harmless(const std::string& setting) {
  return setting == "launcher";
}

std::string joined(const std::set<std::string>& values) {
  return compare::join({values.begin(), values.end()}, " or ");
}

void compare_configuration(Result& result, const Table& table, const SideStep& side) {
  auto mine = compare::effective_configuration(side);
  if (!side.source->facts.empty()) mine["device"] = side.source->facts.front().device;
  std::set<std::string> keys;
  for (const auto& [key, value] : mine) keys.insert(key);
  for (const auto& [key, values] : table.configuration) keys.insert(key);
  std::vector<std::string> changed;
  for (const auto& key : keys) {
    const auto found = table.configuration.find(key);
    const bool known = found != table.configuration.end(), here = mine.contains(key);
    // What only one side records is listed with the missing tensors, not here.
    if (key.starts_with("storage of ") && (!known || !here)) continue;
    const std::string value = here ? mine.at(key) : "absent";
    if (known && found->second.contains(value)) continue;
    // What no two exporting runs shared (a process id, a port) tells nothing.
    if (known && table.runs > 1 && static_cast<int>(found->second.size()) == table.runs) continue;
    const std::string before = known ? joined(found->second) : "absent";
    if ((value.empty() || value == "absent") && (before.empty() || before == "absent")) continue;
    result.differences.push_back({key, value, before});
    if (!harmless(key)) changed.push_back(key);
  }
  if (!changed.empty()) {
    constexpr size_t kNamed = 3;
    const size_t more = changed.size() > kNamed ? changed.size() - kNamed : 0;
    changed.resize(changed.size() - more);
    result.excuse = compare::join(changed, ", ") +
                    (more > 0 ? " and " + std::to_string(more) + " more" : "") + " changed";
  }
  if (!result.layout_exported) result.excuse = "in a layout that was not exported";
}

std::string kind_text(const trace::What& what) {
  return trace::site_kind(what.site) + " " + std::string(trace::name_of(what.phase)) + " " +
         what.role;
}

// How strongly a judgement speaks about its place; copies only where nothing else does.
int weight(const Judgement& judgement) {
  return judgement.rule == "copies" ? 0 : judgement.rule == "non_finite" ? 2 : 1;
}

// The same tensor on all ranks that are off.
struct Folded {
  const Judgement* worst = nullptr;
  trace::What what;
  int32_t microbatch = -1;
  std::vector<int> records;
};

void fold(Folded& folded, const Key& key, const Judgement& judgement, const Item& item) {
  if (folded.worst != nullptr && weight(judgement) < weight(*folded.worst)) return;
  if (folded.worst == nullptr || weight(judgement) > weight(*folded.worst)) {
    folded = {&judgement, key.what, key.microbatch, {}};
  }
  if (judgement.measured > folded.worst->measured) folded.worst = &judgement;
  folded.records.insert(folded.records.end(), item.records.begin(), item.records.end());
}

Difference difference_of(const Folded& folded, const SideStep& side) {
  Difference difference;
  auto& finding = difference.finding;
  finding.rule = folded.worst->rule;
  finding.severity =
      finding.rule == "noise" ? oracle::Severity::kSuspicious : oracle::Severity::kProven;
  finding.what = folded.what;
  finding.microbatch = folded.microbatch;
  finding.decider = oracle::Decider::kReference;
  finding.measured = folded.worst->measured;
  finding.allowed = folded.worst->allowed;
  finding.unit = folded.worst->unit;
  finding.evidence = folded.worst->why;
  std::set<int32_t> ranks;
  bool inputs = false;
  for (const int record : folded.records) {
    const auto& where = side.record(record).where;
    finding.records.push_back({where.rank, where.sequence});
    ranks.insert(where.rank);
    inputs = inputs || !side.flow->inputs(record).empty();
  }
  finding.ranks.assign(ranks.begin(), ranks.end());
  difference.inputs = folded.worst->passed_on ? "not as expected: it came from there"
                      : inputs                ? "as expected: it started here"
                                              : "none recorded: first seen here";
  return difference;
}

// Gathers the judgements of one step.
class StepResult {
 public:
  StepResult(Result& result, const SideStep& side) : result_(result), side_(side) {}

  void add(const Key& key, const Item& item, const Judgement& judgement) {
    result_.tensors.add(judgement.standing);
    result_.by_norm_alone += judgement.by_norm_alone;
    if (judgement.standing == Standing::kUnjudged) {
      ++result_.unjudged[judgement.why];
      if (!judgement.passed_on) fold(unjudged_[{key.what, key.microbatch}], key, judgement, item);
    }
    if (judgement.standing != Standing::kDifferent) return;
    result_.passed_on += judgement.passed_on;
    if (!judgement.passed_on) fold(different_[{key.what, key.microbatch}], key, judgement, item);
  }

  void finish() {
    for (const auto* folded : ordered(different_))
      result_.different.push_back(difference_of(*folded, side_));
    if (result_.first_unjudged || unjudged_.empty()) return;
    result_.first_unjudged = difference_of(*ordered(unjudged_).front(), side_);
  }

 private:
  using Places = std::map<std::pair<trace::What, int32_t>, Folded>;

  std::vector<const Folded*> ordered(const Places& folded) const {
    std::vector<const Folded*> by_id, result;
    std::vector<compare::Place> places;
    for (const auto& [key, each] : folded) {
      places.push_back({static_cast<int>(by_id.size()), each.records});
      by_id.push_back(&each);
    }
    for (const int id : compare::in_causal_order(*side_.order, std::move(places)))
      result.push_back(by_id[static_cast<size_t>(id)]);
    return result;
  }

  Result& result_;
  const SideStep& side_;
  Places different_, unjudged_;
};

void count_absent(Result& result, const Table& table, int64_t step, const Items& items) {
  for (const auto& [key, entry] : table.entries) {
    if (key.what.step == step && !items.contains(key)) ++result.missing[kind_text(key.what)];
  }
  for (const auto& [key, item] : items) {
    if (!table.entries.contains(key)) ++result.extra[kind_text(key.what)];
  }
}

void count_steps(Result& result, const Table& table, const compare::TraceSource& run) {
  const std::set<int64_t> here(run.steps.begin(), run.steps.end());
  for (const int64_t step : table.steps) {
    if (here.contains(step)) continue;
    const auto lost = std::ranges::count_if(
        table.entries, [&](const auto& entry) { return entry.first.what.step == step; });
    result.missing["step " + std::to_string(step) + ", the whole of it"] += lost;
  }
  for (const int64_t step : here) {
    if (!table.steps.contains(step)) ++result.extra["step " + std::to_string(step)];
  }
}

void conclude(Result& result) {
  const int64_t off = static_cast<int64_t>(result.different.size());
  if (result.tensors.different > 0 || result.losses.different > 0) {
    result.verdict = Verdict::kDifferent;
    result.reason = std::to_string(off) + (off == 1 ? " place is" : " places are") +
                    " not as in the exporting runs, " + std::to_string(result.passed_on) +
                    " tensors follow from that, " + std::to_string(result.losses.different) +
                    " losses are off";
    return;
  }
  std::vector<std::string> open;
  if (result.tensors.all() == 0) open.push_back("nothing could be compared");
  if (result.tensors.unjudged > 0)
    open.push_back(std::to_string(result.tensors.unjudged) + " tensors differ and are not judged");
  if (result.losses.unjudged > 0)
    open.push_back(std::to_string(result.losses.unjudged) + " losses differ and are not judged");
  int64_t missing = 0;
  for (const auto& [kind, lost] : result.missing) missing += lost;
  if (missing > 0) open.push_back(std::to_string(missing) + " expected values are missing");
  if (!result.incomplete.empty()) open.push_back("ranks ended early");
  result.verdict = open.empty() ? Verdict::kSame : Verdict::kUnknown;
  result.reason = open.empty() ? "all that is expected is there, equal or within noise"
                               : compare::join(open, ", ");
}

}  // namespace

Result check_run(const Golden& golden, const compare::TraceSource& run,
                 const oracle::Thresholds& thresholds) {
  const Table& table = table_for(golden, run);
  Result result;
  result.trace = run.name;
  result.layout = layout_name(run);
  result.layout_exported = &table != &golden.across;
  result.runs = table.runs;
  result.expected = static_cast<int64_t>(table.entries.size());
  result.judged = std::max<int64_t>(1, judged_quantities(table));
  result.family_rate = thresholds["family_rate"];
  result.thresholds_sha256 = thresholds.sha256();
  result.exploratory = result.thresholds_sha256 != golden.thresholds_sha256;
  count_steps(result, table, run);
  Against against{table, thresholds, result.judged, "", result.layout_exported};
  StepJudge judge(against);
  std::vector<compare::Loss> losses;
  LossStandings standings;
  bool first = true;
  for (const int64_t number : run.steps) {
    if (!table.steps.contains(number)) continue;
    const SideStep side = compare::make_side(run, run.read_step(number), oracle::Side::kCandidate);
    if (first) {
      compare_configuration(result, table, side);
      against.excuse = result.excuse;
    }
    first = false;
    for (const auto& rank : side.step->progress) {
      if (const std::string cut = trace::describe_progress(rank); !cut.empty())
        result.incomplete.push_back("step " + std::to_string(number) + ": " + cut);
    }
    const Items items = result.layout_exported ? items_by_rank(side) : items_by_logical(side);
    StepResult gathered(result, side);
    const auto judgements = judge.judge(side, items);
    for (const auto& [key, judgement] : judgements) {
      gathered.add(key, items.at(key), judgement);
      standings.add(key.what, judgement.standing);
    }
    gathered.finish();
    count_absent(result, table, number, items);
    compare::add_losses(losses, side, nullptr);
  }
  judge_curve(result, table, losses, standings, thresholds);
  conclude(result);
  return result;
}

oracle::Thresholds thresholds_of(const Golden& golden) {
  auto thresholds = oracle::Thresholds::installed();
  for (const auto& [key, value] : golden.thresholds) thresholds.override_with(key, value);
  return thresholds;
}

}  // namespace nanhunt::golden
