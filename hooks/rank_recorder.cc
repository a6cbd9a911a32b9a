// SPDX-License-Identifier: Apache-2.0
#include "hooks/rank_recorder.h"

#include <cstdio>
#include <exception>
#include <stdexcept>
#include <utility>

#include "hooks/pack_values.h"

namespace nanhunt::hooks {
namespace {

constexpr int kNonFiniteWaitMs = 1000;
constexpr int kFailWaitMs = 1000;
// Values may fill this share of trace_bytes; the rest is kept for rows.
constexpr double kValueShare = 0.75;
// A file of a few rows is mostly tables and headers.
constexpr int64_t kFileBytes = 64 << 10;

// What a row takes in memory, and about what it takes in a file.
int64_t row_bytes(const trace::Record& record) {
  return static_cast<int64_t>(sizeof(QueueItem) + record.what.site.size() +
                              record.what.role.size() + record.op.size() +
                              record.attributes.size() +
                              record.links.size() * sizeof(trace::Link) +
                              record.segment_digests.size() * sizeof(uint64_t) +
                              record.regions.size() * sizeof(trace::RegionPrint));
}

const std::shared_ptr<const trace::Placement>& unknown_placement() {
  static const auto placement = [] {
    trace::Placement unknown;
    for (int axis = 0; axis < trace::kMeshAxes; ++axis)
      unknown.mesh.push_back({.axis = static_cast<trace::MeshAxis>(axis)});
    return std::make_shared<const trace::Placement>(std::move(unknown));
  }();
  return placement;
}

}  // namespace

RankRecorder::Impl::Impl(trace::CapturePlan plan, trace::RunFacts facts, TraceWriter* writer,
                         int slot)
    : plan_(std::move(plan)),
      facts_(std::move(facts)),
      writer_(writer),
      slot_(slot),
      on_(writer && writer->filter().wants_rank(facts_.rank)) {
  if (on_) send(RankAdded{facts_});
}

bool RankRecorder::Impl::on() const {
  return on_.load(std::memory_order_relaxed) && writer_->works();
}

bool RankRecorder::Impl::captures() const {
  return step_wanted_.load(std::memory_order_relaxed) && on();
}

bool RankRecorder::Impl::wants(const std::string& site, trace::Phase phase) const {
  return captures() && writer_->filter().wants(site, phase);
}

void RankRecorder::Impl::begin_step(int64_t step) {
  const bool wanted = writer_->filter().wants_step(step);
  {
    std::lock_guard lock(placement_mutex_);
    coherent_placements_.clear();
  }
  std::lock_guard lock(mutex_);
  // A step that is begun again goes on counting: its sequence numbers stay unique.
  if (step != step_) {
    step_ = step;
    next_sequence_ = 0;
    first_seen_ = {};
    occurrences_.clear();
    group_sequences_.clear();
  }
  if (step_wanted_.load() && !wanted) send(StepEnded{});
  step_wanted_.store(wanted);
  if (wanted) send(StepBegun{step});
}

void RankRecorder::Impl::end_step() {
  std::lock_guard lock(mutex_);
  if (!step_wanted_.exchange(false)) return;
  say_waiting();
  send(StepEnded{});
}

void RankRecorder::Impl::say_waiting() const {
  const std::chrono::duration<double> waited = writer_->queue().take_waited(slot_);
  if (waited.count() == 0) return;
  std::fprintf(stderr,
               "nanhunt: step %lld was held up for %.3f s: rank %d waited for room, %lld bytes may "
               "wait to be written\n",
               static_cast<long long>(step_), waited.count(), facts_.rank,
               static_cast<long long>(plan_.queue_bytes));
}

trace::Record RankRecorder::Impl::describe(const Observation& observation) const {
  trace::Record record;
  record.what.site = observation.site;
  record.what.phase = observation.phase;
  record.what.role = observation.role;
  record.where.rank = facts_.rank;
  record.where.microbatch = observation.microbatch;
  record.where.lane = observation.lane;
  record.storage = observation.tensor.dtype;
  record.compute = observation.compute;
  record.local_shape = observation.tensor.shape;
  record.placement = observation.placement ? observation.placement : unknown_placement();
  record.op = observation.op;
  record.attributes = observation.attributes;
  record.links = observation.links;
  record.rounding = static_cast<float>(observation.rounding);
  record.collective = observation.collective;
  return record;
}

void RankRecorder::Impl::check_placement(const std::shared_ptr<const trace::Placement>& placement,
                                         const std::vector<int64_t>& shape) {
  const auto key = std::make_pair(placement, shape);
  {
    std::lock_guard lock(placement_mutex_);
    if (coherent_placements_.contains(key)) return;
  }
  if (const auto fault = trace::placement_fault(*placement, shape); !fault.empty())
    throw std::invalid_argument("placement: " + fault);
  std::lock_guard lock(placement_mutex_);
  coherent_placements_.emplace(key, true);
}

bool RankRecorder::Impl::trace_is_full(int64_t more_bytes, double share) const {
  if (plan_.trace_bytes == 0) return false;
  const int64_t coming = writer_->written_bytes() + writer_->queue().used_bytes() + more_bytes;
  return static_cast<double>(coming + kFileBytes) >
         share * static_cast<double>(plan_.trace_bytes);
}

int64_t RankRecorder::Impl::record(const Observation& observation) {
  if (!wants(observation.site, observation.phase)) return -1;
  trace::Record record = describe(observation);
  check_placement(record.placement, record.local_shape);
  trace::Prints prints = trace::fingerprint(
      observation.tensor, *record.placement,
      {.segments = observation.segments, .segment_dim = observation.segment_dim});
  record.statistics = prints.statistics;
  record.raw_digest = prints.raw_digest;
  record.segment_digests = std::move(prints.segment_digests);
  record.regions = std::move(prints.regions);

  const int64_t for_row = row_bytes(record);
  if (trace_is_full(for_row, 1.0)) {
    switch_off("bytes: all later rows", "the bound on the size of the trace was reached");
    return -1;
  }
  const bool wants_values =
      writer_->filter().wants_values(observation.site, observation.phase);
  int64_t for_values = wants_values ? packed_bytes(observation.tensor) : 0;
  if (for_values > 0 && trace_is_full(for_row + for_values, kValueShare)) {
    send(LeftOut{"bytes"});
    for_values = 0;
  }
  const Admission admission =
      writer_->queue().reserve(slot_, for_row, for_values,
                               writer_->filter().must_keep_values(observation.site,
                                                                  observation.phase));
  if (admission == Admission::kRefused) return -1;
  if (admission == Admission::kRow && for_values > 0) {
    send(LeftOut{"memory"});
    for_values = 0;
  }
  std::vector<std::byte> values;
  if (admission == Admission::kRowAndValues) {
    try {
      values = pack_values(observation.tensor);
    } catch (...) {
      writer_->queue().cancel(for_row + for_values);
      throw;
    }
    record.has_values = true;
  }
  return hand_over(std::move(record), std::move(values), for_row + for_values);
}

int64_t RankRecorder::Impl::hand_over(trace::Record record, std::vector<std::byte> values,
                                      int64_t bytes) {
  std::shared_ptr<SealLatch> latch;
  int64_t sequence = -1;
  {
    std::lock_guard lock(mutex_);
    if (!step_wanted_.load()) {  // the step ended meanwhile, on another thread
      writer_->queue().cancel(bytes);
      return -1;
    }
    record.what.step = step_;
    record.what.occurrence = count_occurrence(record);
    sequence = record.where.sequence = next_sequence_++;
    const bool first = is_first_non_finite(record.statistics);
    if (first) latch = std::make_shared<SealLatch>();
    QueueItem item = item_of(Row{std::move(record), std::move(values)});
    item.bytes = bytes;
    item.first_non_finite = first;
    item.sealed = latch;
    writer_->queue().push(std::move(item));
  }
  if (latch) latch->wait(kNonFiniteWaitMs);
  return sequence;
}

bool RankRecorder::Impl::is_first_non_finite(const trace::Statistics& statistics) {
  const bool new_nan = statistics.nan > 0 && !std::exchange(first_seen_.nan, true);
  const bool inf = statistics.pos_inf + statistics.neg_inf > 0;
  const bool new_inf = inf && !std::exchange(first_seen_.inf, true);
  return new_nan || new_inf;
}

int32_t RankRecorder::Impl::count_occurrence(const trace::Record& record) {
  const std::string key = record.what.site + '\n' + record.what.role + '\n' +
                          std::to_string(static_cast<int>(record.what.phase)) + '\n' +
                          std::to_string(record.where.microbatch);
  return occurrences_[key]++;
}

int64_t RankRecorder::Impl::issue(trace::Collective collective) {
  if (!captures()) return -1;
  std::lock_guard lock(mutex_);
  if (!step_wanted_.load()) return -1;
  collective.step = step_;
  collective.rank = facts_.rank;
  collective.group_sequence = group_sequences_[collective.group]++;
  collective.issue_sequence = next_sequence_;
  collective.complete_sequence = -1;
  // Never starts over: an asynchronous collective that is waited for in the next step must not be
  // taken for one of that step.
  const int64_t log_index = next_log_index_++;
  send(CollectiveIssued{log_index, std::move(collective)});
  return log_index;
}

void RankRecorder::Impl::complete(int64_t log_index, std::vector<int64_t> outputs) {
  if (log_index < 0 || !captures()) return;
  std::lock_guard lock(mutex_);
  send(CollectiveCompleted{log_index, next_sequence_, std::move(outputs)});
}

void RankRecorder::Impl::seal(trace::CutReason reason, const std::string& detail,
                              int milliseconds) {
  const auto latch = std::make_shared<SealLatch>();
  QueueItem item = item_of(CutNow{reason, detail});
  item.sealed = latch;
  writer_->queue().push(std::move(item));
  if (milliseconds > 0) latch->wait(milliseconds);
}

void RankRecorder::Impl::switch_off(const std::string& reason, const std::string& detail) {
  if (!on_.exchange(false)) return;
  std::fprintf(stderr, "nanhunt: capture of rank %d stopped: %s\n", facts_.rank, detail.c_str());
  send(LeftOut{reason});
  seal(trace::CutReason::kTrigger, detail, kFailWaitMs);
}

void RankRecorder::Impl::fail(const std::string& what) {
  if (!on_.load() || !writer_->works()) return;
  switch_off("hook_failed: " + what, "hook failed: " + what);
}

}  // namespace nanhunt::hooks
