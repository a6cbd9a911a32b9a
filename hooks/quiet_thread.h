// SPDX-License-Identifier: Apache-2.0
// Threads of the recorder, which no signal interrupts.
#pragma once

#include <csignal>
#include <thread>
#include <utility>

namespace nanhunt::hooks {

// Starts a thread whose signals are all blocked from its first instruction on.
template <typename Function>
std::thread start_quiet_thread(Function function) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  std::thread thread(std::move(function));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace nanhunt::hooks
