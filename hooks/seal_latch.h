// SPDX-License-Identifier: Apache-2.0
// Lets one training thread wait, for a bounded time, until the writer has sealed what it handed
// over. A POSIX semaphore: posting takes no lock, so a thread stopped by a signal while it waits
// can never hold up the writer.
#pragma once

#include <semaphore.h>

#include <cerrno>
#include <ctime>

namespace nanhunt::hooks {

class SealLatch {
 public:
  SealLatch() { sem_init(&semaphore_, 0, 0); }
  ~SealLatch() { sem_destroy(&semaphore_); }
  SealLatch(const SealLatch&) = delete;
  SealLatch& operator=(const SealLatch&) = delete;

  void open() { sem_post(&semaphore_); }

  // One waiter. False when the time passed first.
  bool wait(int milliseconds) {
    timespec until{};
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += milliseconds / 1000;
    until.tv_nsec += (milliseconds % 1000) * 1'000'000L;
    if (until.tv_nsec >= 1'000'000'000L) {
      until.tv_nsec -= 1'000'000'000L;
      ++until.tv_sec;
    }
    int status = 0;
    do {
      status = sem_clockwait(&semaphore_, CLOCK_MONOTONIC, &until);
    } while (status != 0 && errno == EINTR);
    return status == 0;
  }

 private:
  sem_t semaphore_{};
};

}  // namespace nanhunt::hooks
