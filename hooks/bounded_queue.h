// SPDX-License-Identifier: Apache-2.0
// The queue between the training threads and the writer, bounded in bytes. What counts against the
// bound is everything that is accepted and not yet sealed: in the queue and in the writer's hands.
//
// A thread reserves room first (this is where it waits), copies values, and then pushes, which
// never waits. Rows wait for room as long as it takes. Values wait kValueWait and are then refused,
// at once when they could never fit. Values that must be kept wait as rows do; larger ones than the
// bound until nothing else is held, and pass alone. A rank with kUnsealedRows rows not yet sealed,
// the oldest of them older than kUnsealedAge, also waits: a disk that is too slow slows training
// down rather than letting the loss of a killed process grow.
//
// The writer never blocks on the lock while `give_up` says that a thread died: the dead thread may
// hold it.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <vector>

#include "hooks/queue_item.h"

namespace nanhunt::hooks {

inline constexpr std::chrono::milliseconds kValueWait{1000};
inline constexpr std::chrono::milliseconds kUnsealedAge{200};
inline constexpr size_t kUnsealedRows = 512;

enum class Admission { kRefused, kRow, kRowAndValues };

class BoundedQueue {
 public:
  // `wake_fd`: eventfd that is written to when the writer must look.
  BoundedQueue(int64_t limit_bytes, int wake_fd);

  // Training threads. kRefused once the queue is shut.
  Admission reserve(int slot, int64_t row_bytes, int64_t value_bytes, bool keep_values = false);
  void cancel(int64_t bytes);  // gives a reservation back
  void push(QueueItem item);   // dropped when the queue is shut

  // Writer. Takes all that waits. `idle`: the writer holds nothing whose age it watches, so the
  // next push must wake it. False when the lock could not be had.
  bool take(std::vector<QueueItem>& out, bool idle, const std::function<bool()>& give_up);
  // `rows` of the rank were sealed, `bytes` of reservations are free again.
  void release(int slot, size_t rows, int64_t bytes, const std::function<bool()>& give_up);
  bool pressed() const { return waiting_.load(std::memory_order_relaxed) > 0; }

  // Accepted and not yet sealed.
  int64_t used_bytes() const;
  // How long callers of that rank waited with values that must be kept, since this was last asked.
  Clock::duration take_waited(int slot);

  // From now on everything is refused, and waiting threads return.
  void shut();

 private:
  friend struct BoundedQueueProbe;  // tests: holds the lock as a thread that died would

  bool fits(int slot, int64_t bytes) const;
  // Returns whether the values are still wanted.
  bool wait_for_room(std::unique_lock<std::mutex>& lock, int slot, int64_t row_bytes, int64_t both,
                     bool with_values, bool keep_values);
  std::unique_lock<std::mutex> lock_unless(const std::function<bool()>& give_up);
  void wake() const;

  const int64_t limit_bytes_;
  const int wake_fd_;
  mutable std::mutex mutex_;
  std::condition_variable room_;
  std::vector<QueueItem> items_;
  std::vector<std::deque<Clock::time_point>> unsealed_;  // by rank slot: when each row was accepted
  std::vector<Clock::duration> waited_;                  // by rank slot
  int64_t used_bytes_ = 0;
  int64_t bytes_since_wake_ = 0;
  bool idle_ = true;
  bool shut_ = false;
  std::atomic<int> waiting_{0};
};

}  // namespace nanhunt::hooks
