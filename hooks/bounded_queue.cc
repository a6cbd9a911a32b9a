// SPDX-License-Identifier: Apache-2.0
#include "hooks/bounded_queue.h"

#include <unistd.h>

#include <utility>

namespace nanhunt::hooks {
namespace {

// Rows between two wakes of a writer that is not idle; it looks by itself at the age limit.
constexpr size_t kWakeEvery = 128;
constexpr std::chrono::milliseconds kGiveUpAfter{50};

}  // namespace

BoundedQueue::BoundedQueue(int64_t limit_bytes, int wake_fd)
    : limit_bytes_(limit_bytes), wake_fd_(wake_fd) {}

void BoundedQueue::wake() const {
  const uint64_t one = 1;
  // A full counter is a wake that is still pending, so a failed write loses nothing.
  [[maybe_unused]] const auto written = ::write(wake_fd_, &one, sizeof one);
}

bool BoundedQueue::fits(int slot, int64_t bytes) const {
  // One row is always let through, or a bound below its size would stop training for good.
  if (used_bytes_ > 0 && used_bytes_ + bytes > limit_bytes_) return false;
  if (static_cast<size_t>(slot) >= unsealed_.size()) return true;
  const auto& rows = unsealed_[slot];
  return rows.size() < kUnsealedRows || Clock::now() - rows.front() <= kUnsealedAge;
}

bool BoundedQueue::wait_for_room(std::unique_lock<std::mutex>& lock, int slot, int64_t row_bytes,
                                 int64_t both, bool with_values, bool keep_values) {
  const auto since = Clock::now();
  const auto ready = [&](int64_t bytes) { return shut_ || fits(slot, bytes); };
  waiting_.fetch_add(1, std::memory_order_relaxed);
  wake();
  if (with_values && keep_values)
    room_.wait(lock, [&] { return ready(both); });
  else if (with_values)
    with_values = room_.wait_for(lock, kValueWait, [&] { return ready(both); });
  if (!with_values) room_.wait(lock, [&] { return ready(row_bytes); });
  waiting_.fetch_sub(1, std::memory_order_relaxed);
  if (!keep_values) return with_values;
  if (waited_.size() <= static_cast<size_t>(slot)) waited_.resize(static_cast<size_t>(slot) + 1);
  waited_[static_cast<size_t>(slot)] += Clock::now() - since;
  return with_values;
}

Admission BoundedQueue::reserve(int slot, int64_t row_bytes, int64_t value_bytes,
                                bool keep_values) {
  std::unique_lock lock(mutex_);
  const int64_t both = row_bytes + value_bytes;
  bool with_values = value_bytes > 0 && (keep_values || both <= limit_bytes_);
  if (!shut_ && !fits(slot, with_values ? both : row_bytes))
    with_values = wait_for_room(lock, slot, row_bytes, both, with_values, keep_values);
  if (shut_) return Admission::kRefused;
  used_bytes_ += with_values ? both : row_bytes;
  return with_values ? Admission::kRowAndValues : Admission::kRow;
}

Clock::duration BoundedQueue::take_waited(int slot) {
  std::lock_guard lock(mutex_);
  const auto at = static_cast<size_t>(slot);
  return at < waited_.size() ? std::exchange(waited_[at], {}) : Clock::duration::zero();
}

int64_t BoundedQueue::used_bytes() const {
  std::lock_guard lock(mutex_);
  return used_bytes_;
}

void BoundedQueue::cancel(int64_t bytes) {
  {
    std::lock_guard lock(mutex_);
    used_bytes_ -= bytes;
  }
  room_.notify_all();
}

void BoundedQueue::push(QueueItem item) {
  const bool urgent = is_urgent(item);
  bool must_wake = false;
  {
    std::lock_guard lock(mutex_);
    if (shut_) {
      used_bytes_ -= item.bytes;
      if (item.sealed) item.sealed->open();
      return;
    }
    item.accepted = Clock::now();
    if (std::holds_alternative<Row>(item.body)) {
      if (unsealed_.size() <= static_cast<size_t>(item.slot)) unsealed_.resize(item.slot + 1);
      unsealed_[item.slot].push_back(item.accepted);
    }
    bytes_since_wake_ += item.bytes;
    items_.push_back(std::move(item));
    must_wake = urgent || idle_ || items_.size() % kWakeEvery == 0 ||
                bytes_since_wake_ > limit_bytes_ / 8;
    if (must_wake) {
      idle_ = false;
      bytes_since_wake_ = 0;
    }
  }
  if (must_wake) wake();
}

std::unique_lock<std::mutex> BoundedQueue::lock_unless(const std::function<bool()>& give_up) {
  std::unique_lock lock(mutex_, std::defer_lock);
  Clock::time_point since{};
  while (!lock.try_lock()) {
    if (give_up()) {
      if (since == Clock::time_point{}) since = Clock::now();
      if (Clock::now() - since > kGiveUpAfter) return lock;
    }
    const timespec pause{0, 20'000};
    nanosleep(&pause, nullptr);
  }
  return lock;
}

bool BoundedQueue::take(std::vector<QueueItem>& out, bool idle,
                        const std::function<bool()>& give_up) {
  const auto lock = lock_unless(give_up);
  if (!lock.owns_lock()) return false;
  out.clear();
  out.swap(items_);
  idle_ = idle && out.empty();
  bytes_since_wake_ = 0;
  return true;
}

void BoundedQueue::release(int slot, size_t rows, int64_t bytes,
                           const std::function<bool()>& give_up) {
  {
    const auto lock = lock_unless(give_up);
    if (!lock.owns_lock()) return;
    used_bytes_ -= bytes;
    if (static_cast<size_t>(slot) < unsealed_.size()) {
      auto& accepted = unsealed_[slot];
      accepted.erase(accepted.begin(), accepted.begin() + std::min(rows, accepted.size()));
    }
  }
  if (pressed()) room_.notify_all();
}

void BoundedQueue::shut() {
  {
    std::lock_guard lock(mutex_);
    shut_ = true;
    for (QueueItem& item : items_)
      if (item.sealed) item.sealed->open();
    items_.clear();
  }
  room_.notify_all();
}

}  // namespace nanhunt::hooks
