// SPDX-License-Identifier: Apache-2.0
#include "hooks/rank_log.h"

#include <algorithm>
#include <utility>

namespace nanhunt::hooks {
namespace {

template <typename... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};

bool tells_death(trace::CutReason reason) {
  return reason == trace::CutReason::kException || reason == trace::CutReason::kSignal;
}

bool may_be_last(trace::CutReason reason) {
  using enum trace::CutReason;
  return reason == kStepEnd || reason == kClose || tells_death(reason);
}

}  // namespace

void add_dropped(trace::Segment& segment, const std::string& reason, int64_t count) {
  const auto same = std::find_if(segment.dropped.begin(), segment.dropped.end(),
                                 [&](const auto& entry) { return entry.first == reason; });
  if (same != segment.dropped.end())
    same->second += count;
  else
    segment.dropped.emplace_back(reason, count);
}

RankLog::RankLog(int slot, trace::RunFacts facts)
    : slot_(slot), facts_(std::move(facts)), open_(fresh()) {}

CutSegment RankLog::fresh() const {
  CutSegment cut;
  cut.slot = slot_;
  return cut;
}

void RankLog::accept(QueueItem item, std::vector<CutSegment>& out) {
  died_ = false;
  open_.bytes += item.bytes;
  if (item.sealed) open_.waiters.push_back(item.sealed);
  std::visit(
      Overloaded{
          [&](RankAdded&) {},
          [&](StepBegun& begun) { begin_step(begun.step, out); },
          [&](StepEnded&) {
            cut(trace::CutReason::kStepEnd, "", out);
            in_step_ = false;
          },
          [&](Row& row) { add_row(row, item); },
          [&](CollectiveIssued& issued) {
            issued_[issued.log_index] = std::move(issued.collective);
          },
          [&](CollectiveInputs& inputs) {
            const auto found = issued_.find(inputs.log_index);
            if (found == issued_.end()) return;
            auto& all = found->second.inputs;
            all.insert(all.end(), inputs.inputs.begin(), inputs.inputs.end());
          },
          [&](CollectiveCompleted& completed) { complete(completed); },
          [&](FactAdded& fact) { set_fact(fact.key, fact.value); },
          [&](LeftOut& left_out) { add_dropped(open_.segment, left_out.reason, left_out.count); },
          [&](CutNow& now) {
            cut(now.reason, now.detail, out);
            died_ = tells_death(now.reason);
            // Between steps there is no file to wait for.
            for (const auto& waiter : std::exchange(open_.waiters, {})) waiter->open();
          },
      },
      item.body);
}

void RankLog::begin_step(int64_t step, std::vector<CutSegment>& out) {
  if (in_step_) cut(trace::CutReason::kClose, "the next step began", out);
  // A step that is begun again goes on with the next index, or its first files would be replaced.
  if (!any_step_ || step != step_) next_index_ = 0;
  any_step_ = true;
  in_step_ = true;
  step_ = step;
}

void RankLog::add_row(Row& row, const QueueItem& item) {
  if (growth_.rows == 0) growth_.oldest = item.accepted;
  ++growth_.rows;
  growth_.bytes += item.bytes;
  growth_.non_finite = growth_.non_finite || item.first_non_finite;
  open_.segment.records.push_back(std::move(row.record));
  open_.segment.values.push_back(std::move(row.values));
}

void RankLog::complete(CollectiveCompleted& completed) {
  const auto found = issued_.find(completed.log_index);
  if (found == issued_.end()) return;  // waited for after the step in which it was logged
  found->second.complete_sequence = completed.complete_sequence;
  found->second.outputs = std::move(completed.outputs);
  open_.segment.collectives.push_back(std::move(found->second));
  open_.segment.collective_index.push_back(found->first);
  issued_.erase(found);
}

void RankLog::append_open_collectives() {
  for (auto& [index, collective] : issued_) {
    collective.complete_sequence = -1;
    open_.segment.collectives.push_back(std::move(collective));
    open_.segment.collective_index.push_back(index);
  }
  issued_.clear();
}

void RankLog::cut(trace::CutReason reason, const std::string& detail,
                  std::vector<CutSegment>& out) {
  // Between steps only what was left out is worth a file; it goes to the step before.
  const bool late_note = !in_step_ && any_step_ && !open_.segment.dropped.empty();
  if (!in_step_ && !late_note) return;
  if (late_note) reason = trace::CutReason::kStepEnd;
  if (may_be_last(reason)) append_open_collectives();
  open_.segment.step = step_;
  open_.segment.rank = facts_.rank;
  open_.segment.index = next_index_++;
  open_.segment.facts = facts_;
  open_.segment.cut = reason;
  open_.segment.cut_detail = detail;
  out.push_back(std::exchange(open_, fresh()));
  growth_ = {};
}

std::optional<CutSegment> RankLog::note(trace::CutReason reason, const std::string& detail) const {
  if (!any_step_) return std::nullopt;
  CutSegment cut = fresh();
  cut.segment.step = step_;
  cut.segment.rank = facts_.rank;
  cut.segment.facts = facts_;
  cut.segment.cut = reason;
  cut.segment.cut_detail = detail;
  return cut;
}

void RankLog::cut_at_end(trace::CutReason reason, const std::string& detail,
                         std::vector<CutSegment>& out) {
  if (died_) return;
  cut(reason, detail, out);
  if (!in_step_ && tells_death(reason)) {
    if (auto death = note(reason, detail)) {
      death->segment.index = next_index_++;
      out.push_back(*std::move(death));
    }
  }
  died_ = tells_death(reason);
}

}  // namespace nanhunt::hooks
