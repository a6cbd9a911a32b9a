// SPDX-License-Identifier: Apache-2.0
#include "compare/judge.h"

#include <algorithm>

#include "compare/common_factor.h"
#include "compare/configuration.h"
#include "compare/controls.h"
#include "compare/coverage.h"
#include "compare/deviations.h"
#include "compare/events.h"
#include "compare/hypothesis.h"
#include "compare/judge_sources.h"
#include "compare/measurements.h"
#include "compare/non_finite_path.h"
#include "compare/numbers.h"
#include "compare/origins.h"
#include "compare/precedence.h"
#include "compare/reference_findings.h"
#include "compare/same_layout.h"
#include "compare/semantic_changes.h"
#include "compare/signatures/signature.h"
#include "oracle/replay/lineage.h"

namespace nanhunt::compare {
namespace {

using oracle::Finding;
using oracle::Side;

// Which draft of which side stands at a place of the report.
struct Entry {
  Side side;
  int draft;
};

class Run {
 public:
  Run(const TraceSource& candidate, const TraceSource* reference,
      const oracle::Thresholds& thresholds, const JudgeOptions& options)
      : candidate_(candidate), reference_(reference), thresholds_(thresholds), options_(options) {}

  Verdict judge();

 private:
  void judge_step(int64_t step);
  SideStep read_reference(int64_t step);
  void hold_records(SideStep& candidate, const SideStep& reference);
  void excuse(SideStep& candidate, const SideStep& reference);
  void add_entries(const SideStep& candidate, std::vector<int> mine, const SideStep* reference,
                   const std::vector<int>& others);
  void finish_draft(Draft& draft, const SideStep& side, const SideStep* reference);
  void merge_places(std::vector<int>& others, const std::vector<int>& mine);
  void predict(const SideStep& candidate, const SideStep& reference);
  void conclude(Verdict& verdict);

  const TraceSource& candidate_;
  const TraceSource* reference_;
  const oracle::Thresholds& thresholds_;
  const JudgeOptions& options_;
  Judge judge_;
  Controls controls_;
  CoverageCount coverage_;
  Origins mine_, others_;
  std::vector<Entry> entries_;
  Measurements measurements_;
  std::vector<Loss> losses_;
  std::vector<std::string> events_;
  std::vector<ConfigDifference> differences_;
  std::vector<SemanticChange> changes_;
  IntendedChanges intended_;
  int64_t set_aside_ = 0;
  std::unique_ptr<const trace::Step> previous_, previous_reference_;
  bool first_ = true;
};

const trace::Step* step_before(const std::unique_ptr<const trace::Step>& previous, int64_t step) {
  return previous && previous->step + 1 == step ? previous.get() : nullptr;
}

SideStep Run::read_reference(int64_t step) {
  trace::Step read = reference_->read_step(step);
  if (options_.rules != nullptr) trace::apply_rules(*options_.rules, read);
  SideStep side = make_side(*reference_, std::move(read), Side::kReference);
  if (options_.own_rules)
    run_rules(side, options_.replay, step_before(previous_reference_, step), thresholds_);
  return side;
}

void Run::hold_records(SideStep& candidate, const SideStep& reference) {
  const SameLayout records = compare_records(candidate, reference, judge_);
  coverage_.add_step(candidate, nullptr, nullptr);
  coverage_.add_same_layout(records);
  if (options_.envelope == nullptr || records.differing == 0) return;
  events_.push_back("step " + std::to_string(candidate.step->step) + ": " +
                    std::to_string(records.differing) + " of " + std::to_string(records.compared) +
                    " records have other bits, the first is " + records.first_difference);
}

// What follows from a failure of the reference itself accuses no candidate.
void Run::excuse(SideStep& candidate, const SideStep& reference) {
  const auto& taint = others_.taint();
  const auto source_of_taint = [&](const trace::What& what) {
    const auto found = reference.step->by_what().find(what);
    if (found == reference.step->by_what().end()) return -1;
    for (const int record : found->second) {
      if (taint[static_cast<size_t>(record)] >= 0) return taint[static_cast<size_t>(record)];
    }
    // A reference that went wrong in an earlier step is no measure any more.
    return others_.failed_before(what.step);
  };
  auto findings = std::move(candidate.findings);
  candidate.findings.clear();
  for (auto& list : candidate.findings_of) list.clear();
  for (auto& finding : findings) {
    const int source = needs_reference(finding.rule) ? source_of_taint(finding.what) : -1;
    if (source < 0) {
      candidate.add_finding(std::move(finding));
      continue;
    }
    ++others_.drafts()[static_cast<size_t>(source)].origin.passed_on;
    for (const auto& ref : finding.records) {
      const int index = candidate.find(ref);
      if (index >= 0) candidate.judged[static_cast<size_t>(index)] = {};
    }
  }
}

// A place where both sides break a rule of their own is one origin, blamed on both.
void Run::merge_places(std::vector<int>& others, const std::vector<int>& mine) {
  std::erase_if(others, [&](int other) {
    const Origin& theirs = others_.drafts()[static_cast<size_t>(other)].origin;
    for (const int index : mine) {
      Origin& origin = mine_.drafts()[static_cast<size_t>(index)].origin;
      const auto& a = origin.finding.what;
      const auto& b = theirs.finding.what;
      if (a.site != b.site || a.phase != b.phase || a.role != b.role) continue;
      if (origin.blame != Blame::kCandidate) continue;
      origin.blame = Blame::kBoth;
      origin.also.push_back(theirs.finding);
      origin.passed_on += theirs.passed_on;
      return true;
    }
    return false;
  });
}

bool non_finite(const Origin& origin) {
  return origin.finding.rule == "non_finite" ||
         std::ranges::any_of(origin.also,
                             [](const Finding& finding) { return finding.rule == "non_finite"; });
}

void Run::finish_draft(Draft& draft, const SideStep& side, const SideStep* reference) {
  Origin& origin = draft.origin;
  if (reference_ != nullptr) {
    const bool own = !needs_reference(origin.finding.rule) ||
                     std::ranges::any_of(origin.also, [](const Finding& finding) {
                       return !needs_reference(finding.rule);
                     });
    origin.blame = draft.side == Side::kReference ? Blame::kReference
                   : own                          ? Blame::kCandidate
                                                  : Blame::kUndecided;
  }
  if (reference != nullptr && needs_reference(origin.finding.rule))
    origin.predicted = predicted_at(changes_, origin.finding.what);
  const int64_t step = side.step->step;
  const auto* mine = step_before(previous_, step);
  const auto* other = step_before(previous_reference_, step);
  const bool of_candidate = draft.side == Side::kCandidate;
  if (auto signature =
          recognise({side, reference, judge_, draft, of_candidate ? mine : other, other})) {
    origin.signature = std::move(signature->name);
    origin.signature_detail = std::move(signature->detail);
  }
  origin.follows_from_operands =
      side.replay.by_record[static_cast<size_t>(draft.record)] == oracle::Replayed::kWithin;
  if (non_finite(origin)) {
    auto lineage = oracle::lineage_of(oracle::ReplayIndex(*side.step), side.source->reader,
                                      side.record(draft.record));
    origin.lineage = std::move(lineage.kind);
    origin.lineage_detail = std::move(lineage.detail);
    origin.growth = growth_before(side, draft.record);
    origin.vanished = vanished_after(side, draft.record);
  }
  origin.hosts = hosts_of(*side.source, origin.finding.ranks);
  origin.hypothesis = hypothesis_of(*side.source, origin.finding);
}

void Run::add_entries(const SideStep& candidate, std::vector<int> mine, const SideStep* reference,
                      const std::vector<int>& others) {
  if (reference != nullptr) {
    for (const auto& [draft, source] :
         passed_on_by_common_factor(candidate, *reference, judge_, mine_.drafts(), mine)) {
      mine_.pass_on(draft, source);
      std::erase(mine, draft);
    }
  }
  for (const int index : mine)
    finish_draft(mine_.drafts()[static_cast<size_t>(index)], candidate, reference);
  for (const int index : others) {
    finish_draft(others_.drafts()[static_cast<size_t>(index)], *reference, nullptr);
  }
  std::vector<int> left = others;
  merge_places(left, mine);
  std::vector<Place> places;
  std::vector<Entry> of_id;
  std::vector<Entry> unplaced;
  for (const int index : mine) {
    places.push_back(
        {static_cast<int>(of_id.size()), mine_.drafts()[static_cast<size_t>(index)].records});
    of_id.push_back({Side::kCandidate, index});
  }
  for (const int index : left) {
    const auto& what = others_.drafts()[static_cast<size_t>(index)].origin.finding.what;
    auto records = records_at(candidate, what.site, what.phase, what.role);
    if (records.empty()) {
      unplaced.push_back({Side::kReference, index});
      continue;
    }
    places.push_back({static_cast<int>(of_id.size()), std::move(records)});
    of_id.push_back({Side::kReference, index});
  }
  for (const int id : in_causal_order(*candidate.order, std::move(places))) {
    entries_.push_back(of_id[static_cast<size_t>(id)]);
  }
  entries_.insert(entries_.end(), unplaced.begin(), unplaced.end());
}

void Run::predict(const SideStep& candidate, const SideStep& reference) {
  changes_ = predict_changes(candidate, reference);
  for (SemanticChange& change : changes_)
    change.intended = std::ranges::find(options_.intended, change.key) != options_.intended.end();
  intended_ = IntendedChanges(changes_);
}

void Run::judge_step(int64_t step) {
  if (options_.progress) options_.progress("step " + std::to_string(step));
  SideStep candidate = make_side(candidate_, candidate_.read_step(step), Side::kCandidate);
  if (options_.own_rules)
    run_rules(candidate, options_.replay, step_before(previous_, step), thresholds_);
  if (first_) {
    judge_.deviations_judged = std::max<int64_t>(
        1, count_deviations(candidate) * static_cast<int64_t>(candidate_.steps.size()));
  }
  if (auto event = take_out_skipped_step(candidate); !event.empty())
    events_.push_back(std::move(event));
  const bool compared =
      reference_ != nullptr && std::ranges::binary_search(reference_->steps, step);
  if (!compared) {
    if (reference_ != nullptr) coverage_.missing_reference_step(step);
    coverage_.add_step(candidate, nullptr, nullptr);
    measurements_.add_step(candidate, nullptr);
    add_losses(losses_, candidate, nullptr);
    const auto mine = mine_.add_step(candidate);
    add_entries(candidate, mine, nullptr, {});
    previous_ = std::move(candidate.step);
    return;
  }
  SideStep reference = read_reference(step);
  take_out_skipped_step(reference);
  judge_.first_step = first_;
  if (first_) {
    differences_ = configuration_differences(candidate, reference);
    predict(candidate, reference);
  }
  if (!controls_.ran) controls_ = run_controls(candidate, judge_);
  std::optional<Comparisons> comparisons;
  if (options_.same_layout) {
    hold_records(candidate, reference);
  } else {
    comparisons = compare_steps(candidate, reference, judge_);
    coverage_.add_step(candidate, &reference, &*comparisons);
    add_reference_findings(candidate, reference, judge_, *comparisons);
  }
  set_aside_ += intended_.take_out(candidate);
  const auto others = others_.add_step(reference);
  excuse(candidate, reference);
  measurements_.add_step(candidate, comparisons ? &*comparisons : nullptr);
  add_losses(losses_, candidate, &reference);
  const auto mine = mine_.add_step(candidate);
  add_entries(candidate, mine, &reference, others);
  first_ = false;
  previous_ = std::move(candidate.step);
  previous_reference_ = std::move(reference.step);
}

std::string repeats_of(const Draft& draft) {
  std::string text;
  if (!draft.microbatches.empty()) text += "; also in microbatches " + list_of(draft.microbatches);
  if (draft.steps.empty()) return text;
  std::vector<std::string> steps;
  for (const int64_t step : draft.steps) steps.push_back(std::to_string(step));
  return text + "; also in steps " + join(steps, " ");
}

void Run::conclude(Verdict& verdict) {
  for (const auto& entry : entries_) {
    const Origins& origins = entry.side == Side::kCandidate ? mine_ : others_;
    const Draft& draft = origins.drafts()[static_cast<size_t>(entry.draft)];
    verdict.origins.push_back(draft.origin);
    verdict.origins.back().downstream_of = origins.downstream_of(draft);
    verdict.origins.back().finding.evidence += repeats_of(draft);
  }
  if (!controls_.passed) {
    verdict.kind = VerdictKind::kUnresolved;
    verdict.controls_passed = false;
    verdict.reason = "a control failed: " + controls_.failure;
  } else if (!verdict.origins.empty()) {
    const bool nan = non_finite(verdict.origins.front());
    verdict.kind = nan ? VerdictKind::kNonFinite : VerdictKind::kDivergence;
  } else if (!verdict.coverage.incomplete.empty() || candidate_.steps.empty()) {
    verdict.kind = VerdictKind::kIncomplete;
    verdict.reason = candidate_.steps.empty()
                         ? "the trace has no step"
                         : "no finding so far; " + verdict.coverage.incomplete.front();
  } else if (reference_ != nullptr && options_.envelope == nullptr &&
             coverage_.differing_unjudged() > 0) {
    verdict.kind = VerdictKind::kUnresolved;
    verdict.reason = std::to_string(coverage_.differing_unjudged()) +
                     " tensors differ from the reference and no envelope says how far is healthy";
  } else if (reference_ != nullptr && verdict.coverage.records_compared == 0) {
    verdict.kind = VerdictKind::kUnresolved;
    verdict.reason = "nothing of the candidate could be compared with the reference";
  } else {
    verdict.kind = VerdictKind::kClean;
  }
}

Verdict Run::judge() {
  judge_.envelope = options_.envelope;
  judge_.thresholds = &thresholds_;
  for (const int64_t step : candidate_.steps) judge_step(step);
  Verdict verdict;
  verdict.candidate = candidate_.name;
  verdict.reference = reference_ != nullptr ? reference_->name : "";
  verdict.thresholds_sha256 = thresholds_.sha256();
  verdict.thresholds = thresholds_.values();
  verdict.exploratory = options_.exploratory;
  verdict.coverage = coverage_.finish(candidate_, reference_);
  verdict.differences = std::move(differences_);
  verdict.semantic_changes = std::move(changes_);
  if (set_aside_ > 0) {
    verdict.coverage.unjudged.push_back(std::to_string(set_aside_) +
                                        " records that follow from intended changes");
  }
  verdict.events = std::move(events_);
  verdict.measurements = measurements_.take();
  verdict.losses = std::move(losses_);
  conclude(verdict);
  if (!verdict.origins.empty()) {
    const Finding& finding = verdict.origins.front().finding;
    const bool theirs = finding.side == Side::kReference;
    verdict.next_command = "nanhunt show " + (theirs ? verdict.reference : verdict.candidate) +
                           " '" + finding.what.site + "'";
  }
  return verdict;
}

}  // namespace

Verdict judge_sources(const TraceSource& candidate, const TraceSource* reference,
                      const oracle::Thresholds& thresholds, const JudgeOptions& options) {
  return Run(candidate, reference, thresholds, options).judge();
}

Verdict scan(const trace::TraceReader& trace, const oracle::Thresholds& thresholds,
             const JudgeOptions& options) {
  const TraceSource source = source_of(trace);
  return judge_sources(source, nullptr, thresholds, options);
}

Verdict compare_traces(const trace::TraceReader& candidate, const trace::TraceReader& reference,
                       const oracle::Thresholds& thresholds, const JudgeOptions& options) {
  const TraceSource mine = source_of(candidate), other = source_of(reference);
  return judge_sources(mine, &other, thresholds, options);
}

}  // namespace nanhunt::compare
