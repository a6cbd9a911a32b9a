// SPDX-License-Identifier: Apache-2.0
#include "compare/origins.h"

#include <algorithm>
#include <set>

#include "compare/downstream.h"
#include "compare/interval.h"
#include "compare/numbers.h"
#include "compare/precedence.h"
#include "compare/reference_findings.h"

namespace nanhunt::compare {
namespace {

using oracle::Decider;
using oracle::Finding;

int first_position(const SideStep& side, const std::vector<int>& records) {
  int first = side.order->position(records.front());
  for (const int record : records) first = std::min(first, side.order->position(record));
  return first;
}

void add_records(const SideStep& side, Finding& finding, const std::vector<int>& records) {
  std::set<oracle::RecordRef> refs(finding.records.begin(), finding.records.end());
  std::set<int32_t> ranks(finding.ranks.begin(), finding.ranks.end());
  for (const int record : records) {
    const auto& where = side.record(record).where;
    refs.insert({where.rank, where.sequence});
    ranks.insert(where.rank);
  }
  finding.records.assign(refs.begin(), refs.end());
  finding.ranks.assign(ranks.begin(), ranks.end());
}

// The finding as this unit tells it: each record by itself when each is wrong by itself.
Finding told_by(const SideStep& side, const Finding& finding, const std::vector<int>& records) {
  if (finding.decider != Decider::kItself) return finding;
  Finding part = finding;
  part.records.clear();
  part.ranks.clear();
  add_records(side, part, records);
  return part;
}

int weight(Decider decider) {
  switch (decider) {
    case Decider::kItself:
      return 0;
    case Decider::kRecomputation:
      return 1;
    case Decider::kReference:
      return 2;
    case Decider::kMajority:
      return 3;
    case Decider::kNone:
      return 4;
  }
  return 5;
}

// The leading rule breaks again at the same place: on another rank of the same microbatch it is the
// same failure, in another microbatch the same fault seen again.
void add_repeat(const SideStep& side, Draft& draft, const Finding& finding,
                const std::vector<int>& records) {
  Finding& leading = draft.origin.finding;
  if (finding.microbatch == leading.microbatch) {
    draft.records.insert(draft.records.end(), records.begin(), records.end());
    add_records(side, leading, records);
    if (!(finding.measured <= leading.measured)) {
      leading.measured = finding.measured;
      leading.allowed = finding.allowed;
      leading.evidence = finding.evidence;
    }
    return;
  }
  ++draft.origin.passed_on;
  auto& known = draft.microbatches;
  if (std::ranges::find(known, finding.microbatch) == known.end())
    known.push_back(finding.microbatch);
}

// In happens-before order, each place once.
std::vector<std::string> places_of(const SideStep& side, std::vector<int> records) {
  std::ranges::sort(records, {}, [&](int record) { return side.order->position(record); });
  std::vector<std::string> places;
  for (const int record : records) {
    std::string place = describe(side.record(record).what);
    if (std::ranges::find(places, place) == places.end()) places.push_back(std::move(place));
  }
  return places;
}

Finding undecided_finding(const SideStep& side, const std::vector<int>& records) {
  Finding finding;
  finding.rule = kReferenceEnvelope;
  finding.severity = oracle::Severity::kSuspicious;
  finding.side = side.side;
  finding.what = side.record(records.front()).what;
  finding.microbatch = side.record(records.front()).where.microbatch;
  finding.decider = Decider::kReference;
  add_records(side, finding, records);
  for (const int record : records) {
    const auto& judged = side.judged[static_cast<size_t>(record)];
    finding.measured = std::max(finding.measured, judged.error);
    finding.allowed = judged.allowed;
    if (side.record(record).where.microbatch != finding.microbatch) finding.microbatch = -1;
  }
  finding.unit = "relative norm";
  finding.evidence =
      "between healthy and out of rule itself, and the largest fresh error of those "
      "that lead to a tensor out of rule";
  return finding;
}

}  // namespace

bool leads(const Finding& a, const Finding& b) {
  if (a.severity != b.severity) return a.severity == oracle::Severity::kProven;
  return weight(a.decider) < weight(b.decider);
}

std::vector<Origins::Unit> Origins::units_of(const SideStep& side) const {
  std::vector<Unit> units;
  for (size_t f = 0; f < side.findings.size(); ++f) {
    const Finding& finding = side.findings[f];
    std::vector<int> records;
    for (const auto& ref : finding.records) {
      const int index = side.find(ref);
      if (index >= 0) records.push_back(index);
    }
    if (records.empty()) continue;
    if (finding.decider == Decider::kItself) {
      for (const int record : records) units.push_back({static_cast<int>(f), {record}, 0});
    } else {
      units.push_back({static_cast<int>(f), std::move(records), 0});
    }
  }
  for (auto& unit : units) unit.position = first_position(side, unit.records);
  std::ranges::stable_sort(units, {}, [](const Unit& unit) { return unit.position; });
  return units;
}

int Origins::carried_origin(const SideStep& side, const std::vector<int>& records) const {
  for (const int record : records) {
    const auto& r = side.record(record);
    if (!is_carried_state(r)) continue;
    const auto found = updates_.find({r.where.rank, r.what.site});
    if (found != updates_.end()) return found->second;
  }
  return -1;
}

int Origins::origin_of(size_t draft) const {
  const int source = drafts_[draft].folded_under;
  return source < 0 ? static_cast<int>(draft) : source;
}

int Origins::failed_before(int64_t step) const {
  for (size_t d = 0; d < drafts_.size(); ++d) {
    if (drafts_[d].origin.finding.what.step < step) return origin_of(d);
  }
  return -1;
}

void Origins::pass_on(int draft, int source) {
  Draft& from = drafts_[static_cast<size_t>(draft)];
  from.folded_under = source;
  drafts_[static_cast<size_t>(source)].origin.passed_on += 1 + from.origin.passed_on;
  std::ranges::replace(taint_, draft, source);
  for (auto& [place, origin] : updates_) {
    if (origin == draft) origin = source;
  }
}

// The derivative of an op that computed something else than it should is that of what it computed.
int Origins::wrong_forward(const SideStep& side, OriginWalk& walk, const Finding& finding) {
  for (size_t u = 0; u < units_.size() && !finding.derivative_of.empty(); ++u) {
    const Finding& other = side.findings[static_cast<size_t>(units_[u].finding)];
    const bool forward = other.rule == finding.rule && other.derivative_of.empty();
    if (!forward || other.ranks != finding.ranks || other.microbatch != finding.microbatch)
      continue;
    if (std::ranges::find(finding.derivative_of, other.what.site) == finding.derivative_of.end())
      continue;
    const int label = resolve(side, walk, static_cast<int>(u));
    if (label >= 0) return label;
  }
  return -1;
}

// Index of the origin that this unit was passed on from, or -1.
int Origins::passed_on_from(const SideStep& side, OriginWalk& walk, const Unit& unit,
                            const Boundary& boundary) {
  const Finding& finding = side.findings[static_cast<size_t>(unit.finding)];
  // A result that does not follow from its own operands went wrong here, whatever the operands are.
  if (finding.decider == Decider::kRecomputation) return wrong_forward(side, walk, finding);
  std::vector<int> bad = boundary.bad;
  std::ranges::sort(bad, {}, [&](int record) { return side.order->position(record); });
  for (const int record : bad) {
    for (const int other : units_of_record_[static_cast<size_t>(record)]) {
      const int label = resolve(side, walk, other);
      if (label >= 0) return label;
    }
  }
  int carried = carried_origin(side, unit.records);
  if (carried < 0) carried = carried_origin(side, boundary.carried);
  if (carried >= 0) return carried;
  // After the first bad step parameters and moments differ everywhere: only exact rules still
  // accuse.
  const bool state_explains = needs_reference(finding.rule) || !boundary.judged();
  return state_explains ? failed_before(side.step->step) : -1;
}

int Origins::resolve(const SideStep& side, OriginWalk& walk, int index) {
  int& label = labels_[static_cast<size_t>(index)];
  if (label == kOpen) return -1;  // a ring of links in a damaged trace
  if (label != kUnknown) return label;
  label = kOpen;
  const Unit& unit = units_[static_cast<size_t>(index)];
  const Finding& finding = side.findings[static_cast<size_t>(unit.finding)];
  const Boundary boundary = walk.walk(unit.records, finding.rule);
  // An undecided input may itself come from something bad.
  const Boundary behind =
      boundary.undecided.empty() ? boundary : walk.walk(unit.records, finding.rule, true);
  const int source = passed_on_from(side, walk, unit, behind);
  if (source >= 0) {
    ++drafts_[static_cast<size_t>(source)].origin.passed_on;
    return labels_[static_cast<size_t>(index)] = source;
  }
  return labels_[static_cast<size_t>(index)] = originate(side, walk, unit, boundary);
}

int Origins::originate(const SideStep& side, OriginWalk& walk, const Unit& unit,
                       const Boundary& boundary) {
  const Finding& whole = side.findings[static_cast<size_t>(unit.finding)];
  Draft draft;
  draft.side = side.side;
  draft.finding = unit.finding;
  draft.records = unit.records;
  draft.origin.finding = told_by(side, whole, unit.records);
  draft.origin.inputs = boundary.judged() || whole.decider == Decider::kRecomputation
                            ? Inputs::kWithin
                            : Inputs::kFirstSeen;
  if (draft.origin.inputs == Inputs::kWithin && needs_reference(whole.rule))
    draft.origin.unjudged_between = places_of(side, boundary.passed);
  if (!boundary.undecided.empty()) {
    Interval interval = interval_of(side, walk, unit.records, whole.rule);
    draft.origin.inputs = Inputs::kInterval;
    draft.origin.candidates = std::move(interval.candidates);
    if (interval.lead != unit.records) {
      draft.origin.also.push_back(draft.origin.finding);
      draft.origin.finding = undecided_finding(side, interval.lead);
      draft.records = interval.lead;
      draft.finding = -1;
    }
  }
  draft.record = *std::ranges::min_element(
      draft.records, {}, [&](int record) { return side.order->position(record); });

  const auto& what = draft.origin.finding.what;
  const auto side_number = static_cast<int>(side.side);
  // The same place went wrong in an earlier step: the same fault, seen again.
  for (size_t d = 0; d < drafts_.size(); ++d) {
    const auto& other = drafts_[d].origin.finding.what;
    if (other.step >= what.step || other.site != what.site || other.phase != what.phase ||
        other.role != what.role || drafts_[d].side != side.side) {
      continue;
    }
    const int origin = origin_of(d);
    Draft& first = drafts_[static_cast<size_t>(origin)];
    const bool again = first.steps.empty() || first.steps.back() != what.step;
    if (origin == static_cast<int>(d) && again) first.steps.push_back(what.step);
    ++first.origin.passed_on;
    return origin;
  }

  const auto key = std::tuple(side_number, what.step, what.site, what.phase, what.role);
  const auto found = by_place_.find(key);
  if (found == by_place_.end()) {
    by_place_.emplace(key, static_cast<int>(drafts_.size()));
    drafts_.push_back(std::move(draft));
    return static_cast<int>(drafts_.size()) - 1;
  }
  Draft& at = drafts_[static_cast<size_t>(found->second)];
  if (at.finding == unit.finding && at.finding >= 0) {  // another record of the same finding
    at.records.insert(at.records.end(), unit.records.begin(), unit.records.end());
    add_records(side, at.origin.finding, unit.records);
  } else if (at.origin.finding.rule == whole.rule) {
    add_repeat(side, at, whole, unit.records);
  } else if (leads(draft.origin.finding, at.origin.finding)) {
    draft.origin.also = std::move(at.origin.also);
    draft.origin.also.insert(draft.origin.also.begin(), std::move(at.origin.finding));
    draft.origin.passed_on = at.origin.passed_on;
    // The leading rule looked at the inputs its own way; what any rule knows of them stays known.
    if (at.origin.inputs == Inputs::kWithin) draft.origin.inputs = Inputs::kWithin;
    at = std::move(draft);
  } else {
    if (draft.origin.inputs == Inputs::kWithin && at.origin.inputs == Inputs::kFirstSeen) {
      at.origin.inputs = Inputs::kWithin;
    }
    const bool known = std::ranges::any_of(
        at.origin.also, [&](const Finding& other) { return other.rule == whole.rule; });
    if (!known) at.origin.also.push_back(std::move(draft.origin.finding));
  }
  return found->second;
}

void Origins::remember_updates(const SideStep& side) {
  const auto count = side.step->records.size();
  taint_.assign(count, -1);
  std::vector<int> sorted(count);
  for (size_t i = 0; i < count; ++i) sorted[i] = static_cast<int>(i);
  std::ranges::sort(sorted, {}, [&](int record) { return side.order->position(record); });
  for (const int index : sorted) {
    const auto i = static_cast<size_t>(index);
    for (const int unit : units_of_record_[i]) {
      if (taint_[i] < 0) taint_[i] = labels_[static_cast<size_t>(unit)];
    }
    if (taint_[i] >= 0 || side.judged[i].standing == Standing::kWithin) continue;
    taint_[i] = carried_origin(side, {index});
    for (const int input : side.flow->inputs(index)) {
      if (taint_[i] < 0) taint_[i] = taint_[static_cast<size_t>(input)];
    }
  }
  for (size_t i = 0; i < count; ++i) {
    const auto& record = side.step->records[i];
    const bool state =
        record.what.phase == trace::Phase::kUpdate || record.what.phase == trace::Phase::kParamSync;
    if (state && record.what.role == "param" && taint_[i] >= 0) {
      updates_.emplace(std::pair(record.where.rank, record.what.site), taint_[i]);
    }
  }
}

// A rule that needs no reference finds what is wrong by itself, wherever its operands come from.
void Origins::note_downstream(const SideStep& side, const std::vector<int>& drafts) {
  if (drafts.size() < 2) return;
  std::vector<std::vector<int>> places;
  for (const int draft : drafts) places.push_back(drafts_[static_cast<size_t>(draft)].records);
  const auto upstream = upstream_places(side, places);
  for (size_t k = 0; k < drafts.size(); ++k) {
    Draft& draft = drafts_[static_cast<size_t>(drafts[k])];
    if (upstream[k] >= 0 && needs_reference(draft.origin.finding.rule))
      draft.downstream_of = drafts[static_cast<size_t>(upstream[k])];
  }
}

std::string Origins::downstream_of(const Draft& draft) const {
  if (draft.downstream_of < 0) return "";
  const Draft& other =
      drafts_[static_cast<size_t>(origin_of(static_cast<size_t>(draft.downstream_of)))];
  return &other == &draft ? "" : describe(other.origin.finding.what);
}

std::vector<int> Origins::add_step(const SideStep& side) {
  const size_t before = drafts_.size();
  units_ = units_of(side);
  labels_.assign(units_.size(), kUnknown);
  units_of_record_.assign(side.step->records.size(), {});
  for (size_t u = 0; u < units_.size(); ++u) {
    for (const int record : units_[u].records) {
      units_of_record_[static_cast<size_t>(record)].push_back(static_cast<int>(u));
    }
  }
  OriginWalk walk(side);
  for (size_t u = 0; u < units_.size(); ++u) resolve(side, walk, static_cast<int>(u));
  remember_updates(side);

  std::vector<Place> places;
  for (size_t d = before; d < drafts_.size(); ++d)
    places.push_back({static_cast<int>(d), drafts_[d].records});
  auto sorted = in_causal_order(*side.order, std::move(places));
  note_downstream(side, sorted);
  return sorted;
}

}  // namespace nanhunt::compare
