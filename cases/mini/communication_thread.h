// SPDX-License-Identifier: Apache-2.0
// A rank's communication thread: runs what it is given, in order. An exception reaches whoever
// waits for that piece of work. The destructor finishes what was submitted.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <thread>

namespace nanhunt::mini {

class CommunicationThread {
 public:
  CommunicationThread();
  ~CommunicationThread();
  std::future<void> submit(std::function<void()> work);

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::packaged_task<void()>> queue_;
  bool closed_ = false;
  std::thread thread_;
};

}  // namespace nanhunt::mini
