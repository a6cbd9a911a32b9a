// SPDX-License-Identifier: Apache-2.0
#include "hooks/ring.h"

#include <algorithm>
#include <utility>

namespace nanhunt::hooks {

Ring::Ring(const trace::CapturePlan& plan) : plan_(plan), memory_(plan.ring), files_(plan.out) {}

std::optional<Fired> Ring::look(const QueueItem& item) {
  if (std::holds_alternative<RankAdded>(item.body))
    watches_.try_emplace(item.slot, plan_.triggers, plan_.ring);
  const auto found = watches_.find(item.slot);
  if (found == watches_.end()) return std::nullopt;
  TriggerWatch& watch = found->second;
  if (const auto* begun = std::get_if<StepBegun>(&item.body)) {
    watch.begin_step(begun->step);
    newest_ = std::max(newest_, begun->step);
  }
  if (const auto* row = std::get_if<Row>(&item.body)) return watch.see(row->record);
  if (std::holds_alternative<StepEnded>(item.body)) return watch.end_step();
  if (const auto* now = std::get_if<CutNow>(&item.body))
    return Fired{"seal", watch.step(), now->detail};
  return std::nullopt;
}

std::optional<Fired> Ring::at_exit(const std::string& how) const {
  const bool waits = std::any_of(plan_.triggers.begin(), plan_.triggers.end(),
                                 [](const auto& t) { return t.kind == trace::TriggerKind::kExit; });
  if (!waits) return std::nullopt;
  return Fired{"exit", newest_, how};
}

std::vector<CutSegment> Ring::fire(const Fired& fired) {
  // A second trigger while the first one's steps are written tells nothing new.
  if (is_news(fired) || fired.trigger == "exit") last_ = fired;
  write_until_ = std::max({write_until_, fired.step + 1, newest_});
  std::vector<CutSegment> past = memory_.take_all();
  for (CutSegment& cut : past) stamp(cut);
  return past;
}

void Ring::stamp(CutSegment& cut) const {
  auto& facts = cut.segment.facts.facts;
  if (facts.contains(trace::ring_fact::kTrigger)) return;
  facts[trace::ring_fact::kSteps] = std::to_string(plan_.ring);
  facts[trace::ring_fact::kTrigger] = last_ ? last_->trigger : "none";
  if (last_) {
    facts[trace::ring_fact::kTriggerStep] = std::to_string(last_->step);
    facts[trace::ring_fact::kDetail] = last_->detail;
  }
  const auto watch = watches_.find(cut.slot);
  if (watch == watches_.end()) return;
  facts[trace::ring_fact::kStepsSeen] = std::to_string(watch->second.steps_seen());
  if (const std::string words = watch->second.unmatched(); !words.empty())
    facts[trace::ring_fact::kUnmatched] = words;
}

std::string Ring::nothing_fired(int slot) const {
  const auto watch = watches_.find(slot);
  const int64_t steps = watch == watches_.end() ? 0 : watch->second.steps_seen();
  return "ring: " + std::to_string(steps) + " steps watched, no trigger fired";
}

}  // namespace nanhunt::hooks
