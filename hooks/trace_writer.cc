// SPDX-License-Identifier: Apache-2.0
#include "hooks/trace_writer.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>

#include "hooks/death_watch.h"
#include "hooks/quiet_thread.h"
#include "trace/segment.h"

namespace nanhunt::hooks {
namespace {

// A quarter of the bound in one rank's segment: room is freed before anybody waits for it.
constexpr int64_t kByteShare = 4;
// How often a writer with nothing to do looks whether a trigger fired in another process.
constexpr int kListenMs = 1000;
constexpr const char* kClosed = "the recorder was closed";

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

}  // namespace

TraceWriter::TraceWriter(trace::CapturePlan plan)
    : plan_(std::move(plan)),
      filter_(plan_),
      wake_fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      process_(getpid()),
      queue_(std::make_unique<BoundedQueue>(plan_.queue_bytes, wake_fd_)) {
  if (plan_.ring > 0) ring_ = std::make_unique<Ring>(plan_);
  thread_ = start_quiet_thread([this] { run(); });
}

TraceWriter::~TraceWriter() {
  stop();
  if (wake_fd_ >= 0) close(wake_fd_);
}

bool TraceWriter::works() const {
  return !failed_.load(std::memory_order_relaxed) && !stopping_.load(std::memory_order_relaxed) &&
         getpid() == process_;
}

bool TraceWriter::dying() const {
  return death_pending(this);
}

void TraceWriter::seal_on_death() {
  watch_for_death(this);
  const uint64_t one = 1;  // the thread must add the request descriptor to what it waits for
  [[maybe_unused]] const auto written = ::write(wake_fd_, &one, sizeof one);
}

void TraceWriter::stop() {
  if (!thread_.joinable()) return;
  if (getpid() != process_) {
    thread_.detach();
    return;
  }
  stopping_.store(true);
  const uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(wake_fd_, &one, sizeof one);
  thread_.join();
  queue_->shut();
}

void TraceWriter::run() {
  std::vector<QueueItem> items;
  for (;;) {
    wait_for_work();
    try {
      const bool last = stopping_.load();
      const auto death = death_notice(this);
      items.clear();
      const bool taken = queue_->take(items, !anything_grows(), [this] { return dying(); });
      idle_ = taken && items.empty() && !anything_grows();
      accept(items);
      cut_what_is_due();
      // An uncaught exception is followed by SIGABRT; the first one is the cause.
      const bool told = std::all_of(ranks_.begin(), ranks_.end(),
                                    [](const auto& entry) { return entry.second.died(); });
      if (death) cut_all(death->reason, death->detail);
      if (last) cut_all(trace::CutReason::kClose, kClosed);
      listen();
      settle_cut_segments();
      if (death && !told) end_ring(death->reason, death->detail);
      if (last) end_ring(trace::CutReason::kClose, kClosed);
      write_one_of_the_past();
      if (death) acknowledge_death();
      if (!dying()) written_.clear();
      if (last) break;
    } catch (const std::exception& error) {
      give_up(error.what());
      if (dying()) acknowledge_death();
      if (stopping_.load()) break;
    }
  }
  end_death_watch(this);
}

void TraceWriter::wait_for_work() {
  // Sleeps until somebody wakes it or the oldest row reaches its age. Not idle and nothing growing:
  // something was just taken, so the queue is looked at once more.
  std::optional<Clock::time_point> deadline;
  for (const auto& [slot, log] : ranks_)
    if (log.growth().rows > 0)
      deadline =
          std::min(deadline.value_or(Clock::time_point::max()), log.growth().oldest + kCutAge);
  int milliseconds = idle_ ? -1 : 0;
  if (deadline) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now());
    milliseconds = static_cast<int>(std::max<int64_t>(0, left.count()));
  }
  if (ring_) milliseconds = milliseconds < 0 ? kListenMs : std::min(milliseconds, kListenMs);
  if (stopping_.load() || !past_.empty()) milliseconds = 0;
  pollfd descriptors[2] = {{wake_fd_, POLLIN, 0}, {death_request_fd(), POLLIN, 0}};
  poll(descriptors, 2, milliseconds);
  uint64_t count = 0;
  [[maybe_unused]] const auto got = ::read(wake_fd_, &count, sizeof count);
}

bool TraceWriter::anything_grows() const {
  return std::any_of(ranks_.begin(), ranks_.end(),
                     [](const auto& entry) { return entry.second.growth().rows > 0; });
}

void TraceWriter::accept(std::vector<QueueItem>& items) {
  for (QueueItem& item : items) {
    const auto fired = ring_ ? ring_->look(item) : std::nullopt;
    if (auto* added = std::get_if<RankAdded>(&item.body)) {
      ranks_.try_emplace(item.slot, item.slot, std::move(added->facts));
      continue;
    }
    const auto rank = ranks_.find(item.slot);
    if (rank == ranks_.end()) continue;
    const bool ends = std::holds_alternative<StepEnded>(item.body);
    if (ends) rank->second.set_fact("filter.unmatched", joined(filter_.unmatched()));
    rank->second.accept(std::move(item), cut_);
    if (ends) listen();
    if (fired) {
      if (rank->second.growth().rows > 0)  // else the item itself was the cut
        rank->second.cut(trace::CutReason::kTrigger, fired->trigger + ": " + fired->detail, cut_);
      if (ring_->is_news(*fired)) ring_->announce(*fired);
      fire(*fired);
    }
    // Each rank is looked at after each row: a burst in the queue becomes segments of 512 rows.
    if (const auto reason = cut_due(rank->second.growth(), rank->second.growth().oldest,
                                    plan_.queue_bytes / kByteShare, false))
      rank->second.cut(*reason, "", cut_);
    if (!cut_.empty()) settle_cut_segments();
  }
}

void TraceWriter::cut_what_is_due() {
  const auto now = Clock::now();
  const bool pressed = queue_->pressed();
  for (auto& [slot, log] : ranks_)
    if (const auto reason = cut_due(log.growth(), now, plan_.queue_bytes / kByteShare, pressed))
      log.cut(*reason, "", cut_);
}

void TraceWriter::cut_all(trace::CutReason reason, const std::string& detail) {
  // What closes after a death adds nothing: the death stays the reason.
  for (auto& [slot, log] : ranks_) log.cut_at_end(reason, detail, cut_);
}

void TraceWriter::settle_cut_segments() {
  for (CutSegment& cut : cut_) {
    const bool held = ring_ && ring_->holds(cut);
    if (!held) write(cut);
    // The waiter may look at the file as soon as it runs, so the file comes first.
    for (const auto& waiter : cut.waiters) waiter->open();
    queue_->release(cut.slot, cut.segment.records.size(), cut.bytes, [this] { return dying(); });
    if (held)
      ring_->memory().keep(std::move(cut));
    else
      written_.push_back(std::move(cut));
  }
  cut_.clear();
  if (dying()) return;
  written_.clear();
  if (ring_) ring_->memory().trim(ring_limit());
}

void TraceWriter::write(CutSegment& cut) {
  if (failed_.load(std::memory_order_relaxed)) return;
  try {
    if (ring_) ring_->stamp(cut);
    trace::write_segment(plan_.out, cut.segment);
    std::error_code ignored;
    const auto size = std::filesystem::file_size(
        trace::segment_path(plan_.out, {cut.segment.step, cut.segment.rank, cut.segment.index}),
        ignored);
    if (!ignored) written_bytes_.fetch_add(static_cast<int64_t>(size), std::memory_order_relaxed);
  } catch (const std::exception& error) {
    give_up(error.what());
  }
}

void TraceWriter::listen() {
  if (!ring_) return;
  if (const auto fired = ring_->heard()) fire(*fired);
}

void TraceWriter::fire(const Fired& fired) {
  std::vector<CutSegment> past = ring_->fire(fired);
  settle_cut_segments();
  // The newest steps come first, also before what an earlier trigger left to be written.
  for (auto cut = past.rbegin(); cut != past.rend(); ++cut) {
    past_bytes_ += cut->bytes;
    past_.push_front(std::move(*cut));
  }
}

void TraceWriter::end_ring(trace::CutReason reason, const std::string& detail) {
  if (!ring_) return;
  if (const auto fired = ring_->at_exit(detail)) fire(*fired);
  while (!past_.empty()) write_one_of_the_past();
  if (ring_->ever_fired()) return;
  for (const auto& [slot, log] : ranks_) {
    const std::string nothing = ring_->nothing_fired(slot);
    const bool closed = reason == trace::CutReason::kClose;
    auto note = log.note(reason, closed ? nothing : detail + "; " + nothing);
    if (!note) continue;
    write(*note);
    written_.push_back(*std::move(note));
  }
}

void TraceWriter::write_one_of_the_past() {
  if (past_.empty()) return;
  written_.push_back(std::move(past_.front()));
  past_.pop_front();
  past_bytes_ -= written_.back().bytes;
  write(written_.back());
}

int64_t TraceWriter::ring_limit() const {
  // What the ring holds may have to be written, within the bound on the trace, and rows beside it.
  const int64_t room = (plan_.trace_bytes - written_bytes()) / 2;
  const int64_t limit = plan_.trace_bytes > 0 ? std::min(plan_.ring_bytes, room) : plan_.ring_bytes;
  return std::max<int64_t>(0, limit - past_bytes_);
}

void TraceWriter::give_up(const std::string& message) {
  if (failed_.exchange(true)) return;
  std::fprintf(stderr, "nanhunt: capture stopped: %s\n", message.c_str());
  queue_->shut();
}

}  // namespace nanhunt::hooks
