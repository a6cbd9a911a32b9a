// SPDX-License-Identifier: Apache-2.0
// Takes the queue's lock and keeps it, as a thread does that dies inside push().
#pragma once

#include "hooks/bounded_queue.h"

namespace nanhunt::hooks {

struct BoundedQueueProbe {
  static std::mutex& lock_of(BoundedQueue& queue) { return queue.mutex_; }
};

}  // namespace nanhunt::hooks
