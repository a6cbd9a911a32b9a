// SPDX-License-Identifier: Apache-2.0
// The one writer thread of the process: takes items off the queue, decides when a segment is cut,
// and writes it. All signals are blocked in it. A segment that cannot be written stops the capture
// of the whole process: one line on stderr, the queue is shut, training goes on.
//
// With a ring (ring.h) segments go to memory instead, and give their room in the queue back. When a
// trigger fires, the segment that is cut by it is written at once, the past piece by piece between
// looks at the queue, so that training need not wait for it.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "hooks/bounded_queue.h"
#include "hooks/plan_filter.h"
#include "hooks/rank_log.h"
#include "hooks/ring.h"
#include "trace/capture_plan.h"

namespace nanhunt::hooks {

class TraceWriter {
 public:
  explicit TraceWriter(trace::CapturePlan plan);
  ~TraceWriter();  // stop()
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;

  BoundedQueue& queue() { return *queue_; }
  const PlanFilter& filter() const { return filter_; }
  const trace::CapturePlan& plan() const { return plan_; }

  // False once writing failed, after stop(), and in a forked child, which has no writer thread.
  bool works() const;
  // Bytes of the files with their final names.
  int64_t written_bytes() const { return written_bytes_.load(std::memory_order_relaxed); }
  // Handlers for signals and std::terminate that seal through this writer.
  void seal_on_death();
  // Seals everything and joins the thread. Call from one thread.
  void stop();

 private:
  void run();
  void wait_for_work();
  void accept(std::vector<QueueItem>& items);
  void cut_what_is_due();
  void cut_all(trace::CutReason reason, const std::string& detail);
  void settle_cut_segments();  // to their files, or into the ring
  void write(CutSegment& cut);
  // Ring only.
  void listen();
  void fire(const Fired& fired);
  void end_ring(trace::CutReason reason, const std::string& detail);
  void write_one_of_the_past();
  int64_t ring_limit() const;
  void give_up(const std::string& message);
  bool anything_grows() const;
  bool dying() const;

  const trace::CapturePlan plan_;
  const PlanFilter filter_;
  const int wake_fd_;
  const int process_;
  std::unique_ptr<BoundedQueue> queue_;
  std::atomic<bool> failed_{false};
  std::atomic<bool> stopping_{false};
  std::atomic<int64_t> written_bytes_{0};

  // Writer thread only.
  std::map<int, RankLog> ranks_;  // by slot
  std::vector<CutSegment> cut_;
  std::unique_ptr<Ring> ring_;   // null: every segment is written
  std::deque<CutSegment> past_;  // of the ring, being written
  int64_t past_bytes_ = 0;
  // What was written and not yet freed: freeing may need a lock of the allocator that a dying
  // thread holds, so it never happens before that thread is answered.
  std::vector<CutSegment> written_;
  bool idle_ = true;
  bool watching_ = false;
  std::thread thread_;
};

}  // namespace nanhunt::hooks
