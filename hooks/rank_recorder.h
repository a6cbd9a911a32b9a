// SPDX-License-Identifier: Apache-2.0
// The inside of RankRecorder (recorder.h): the state of one rank on the side of the training
// threads. The lock orders sequence numbers, log indices and what enters the queue; statistics,
// fingerprints and copies of values are made outside it.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "hooks/recorder.h"
#include "hooks/trace_writer.h"

namespace nanhunt::hooks {

struct RankRecorder::Impl {
  // `writer`: null in an inert recorder; outlives the rank otherwise.
  Impl(trace::CapturePlan plan, trace::RunFacts facts, TraceWriter* writer, int slot);

  bool on() const;
  bool captures() const;  // on, and inside a step that the plan wants
  bool wants(const std::string& site, trace::Phase phase) const;
  void begin_step(int64_t step);
  void end_step();
  int64_t record(const Observation& observation);
  int64_t issue(trace::Collective collective);
  void complete(int64_t log_index, std::vector<int64_t> outputs);
  void seal(trace::CutReason reason, const std::string& detail, int milliseconds);
  void fail(const std::string& what);
  template <typename Body>
  void send(Body body) {
    writer_->queue().push(item_of(std::move(body)));
  }

  const trace::CapturePlan& plan() const { return plan_; }
  const trace::RunFacts& facts() const { return facts_; }

 private:
  // First values of a kind that a step shows; each kind is sealed at once, the first time.
  struct FirstSeen {
    bool nan = false;
    bool inf = false;
  };

  template <typename Body>
  QueueItem item_of(Body body) const {
    QueueItem item;
    item.slot = slot_;
    item.body = std::move(body);
    return item;
  }
  trace::Record describe(const Observation& observation) const;
  void check_placement(const std::shared_ptr<const trace::Placement>& placement,
                       const std::vector<int64_t>& shape);
  bool trace_is_full(int64_t more_bytes, double share) const;
  int64_t hand_over(trace::Record record, std::vector<std::byte> values, int64_t bytes);
  bool is_first_non_finite(const trace::Statistics& statistics);
  int32_t count_occurrence(const trace::Record& record);
  void say_waiting() const;  // of values that must be kept; one line on stderr
  void switch_off(const std::string& reason, const std::string& detail);

  const trace::CapturePlan plan_;
  const trace::RunFacts facts_;
  TraceWriter* const writer_;
  const int slot_;
  std::atomic<bool> on_;
  std::atomic<bool> step_wanted_{false};

  std::mutex mutex_;  // guards what follows
  int64_t step_ = -1;
  int64_t next_sequence_ = 0;
  int64_t next_log_index_ = 0;
  FirstSeen first_seen_;
  std::unordered_map<std::string, int32_t> occurrences_;
  std::map<std::vector<int32_t>, int64_t> group_sequences_;

  std::mutex placement_mutex_;
  // Placements already found coherent in this step, with the shape; held, so no address is reused.
  std::map<std::pair<std::shared_ptr<const trace::Placement>, std::vector<int64_t>>, bool>
      coherent_placements_;
};

}  // namespace nanhunt::hooks
