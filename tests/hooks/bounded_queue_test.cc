// SPDX-License-Identifier: Apache-2.0
#include "hooks/bounded_queue.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <thread>

#include "tests/hooks/bounded_queue_probe.h"

namespace nanhunt::hooks {
namespace {

bool nobody_dies() {
  return false;
}

class BoundedQueueTest : public testing::Test {
 protected:
  BoundedQueueTest() : wake_fd_(eventfd(0, EFD_NONBLOCK)), queue_(1000, wake_fd_) {}
  ~BoundedQueueTest() override { close(wake_fd_); }

  void push_row(int64_t bytes) {
    QueueItem item;
    item.body = Row{};
    item.bytes = bytes;
    queue_.push(std::move(item));
  }
  bool woken() {
    uint64_t count = 0;
    return read(wake_fd_, &count, sizeof count) == sizeof count;
  }

  int wake_fd_;
  BoundedQueue queue_;
};

TEST_F(BoundedQueueTest, CountsWhatIsNotSealed) {
  EXPECT_EQ(queue_.reserve(0, 100, 300), Admission::kRowAndValues);
  push_row(400);
  EXPECT_EQ(queue_.used_bytes(), 400);
  std::vector<QueueItem> items;
  ASSERT_TRUE(queue_.take(items, false, nobody_dies));
  EXPECT_EQ(items.size(), 1U);
  EXPECT_EQ(queue_.used_bytes(), 400) << "the writer's hands count too";
  queue_.release(0, 1, 400, nobody_dies);
  EXPECT_EQ(queue_.used_bytes(), 0);
}

TEST_F(BoundedQueueTest, ValuesThatCanNeverFitAreRefusedAtOnce) {
  EXPECT_EQ(queue_.reserve(0, 100, 901), Admission::kRow);
  EXPECT_EQ(queue_.used_bytes(), 100);
}

TEST_F(BoundedQueueTest, ValuesAreRefusedAfterAWhileAndTheRowStays) {
  ASSERT_EQ(queue_.reserve(0, 100, 700), Admission::kRowAndValues);
  EXPECT_EQ(queue_.reserve(0, 100, 300), Admission::kRow);
}

TEST_F(BoundedQueueTest, OneRowLargerThanTheBoundPassesAnEmptyQueue) {
  EXPECT_EQ(queue_.reserve(0, 5000, 0), Admission::kRow);
}

TEST_F(BoundedQueueTest, RowWaitsUntilRoomComesBack) {
  ASSERT_EQ(queue_.reserve(0, 900, 0), Admission::kRow);
  std::thread caller([&] { EXPECT_EQ(queue_.reserve(0, 200, 0), Admission::kRow); });
  while (!queue_.pressed()) std::this_thread::yield();
  // The wake comes right after it: a bounded wait, not a look.
  pollfd wake{wake_fd_, POLLIN, 0};
  EXPECT_EQ(poll(&wake, 1, 10'000), 1) << "a caller that waits wakes the writer";
  queue_.release(0, 0, 900, nobody_dies);
  caller.join();
  EXPECT_EQ(queue_.used_bytes(), 200);
}

TEST_F(BoundedQueueTest, ShutLetsWaitingRowsGo) {
  ASSERT_EQ(queue_.reserve(0, 900, 0), Admission::kRow);
  std::thread caller([&] { EXPECT_EQ(queue_.reserve(0, 200, 0), Admission::kRefused); });
  while (!queue_.pressed()) std::this_thread::yield();
  queue_.shut();
  caller.join();
  EXPECT_EQ(queue_.reserve(0, 1, 0), Admission::kRefused);
}

TEST_F(BoundedQueueTest, WakesAnIdleWriterOnceAndABusyOneSeldom) {
  push_row(1);
  EXPECT_TRUE(woken()) << "the first row starts the clock";
  push_row(1);
  EXPECT_FALSE(woken()) << "the writer is up already";
  std::vector<QueueItem> items;
  ASSERT_TRUE(queue_.take(items, false, nobody_dies));
  push_row(1);
  EXPECT_FALSE(woken()) << "rows that grow have a deadline";
  QueueItem end;
  end.body = StepEnded{};
  queue_.push(std::move(end));
  EXPECT_TRUE(woken()) << "a step end is urgent";
}

TEST_F(BoundedQueueTest, WriterGivesUpALockThatADeadThreadHolds) {
  push_row(1);
  std::vector<QueueItem> items;
  {
    std::lock_guard held(BoundedQueueProbe::lock_of(queue_));
    std::thread writer([&] { EXPECT_FALSE(queue_.take(items, false, [] { return true; })); });
    writer.join();
  }
  EXPECT_TRUE(queue_.take(items, false, [] { return true; })) << "a free lock is taken";
  EXPECT_EQ(items.size(), 1U);
}

}  // namespace
}  // namespace nanhunt::hooks
