// SPDX-License-Identifier: Apache-2.0
// Termination signals and uncaught exceptions, turned into a request to the writer thread.
//
// The handler only stores numbers, writes to eventfds and polls, all of which is
// async-signal-safe; the writer, whose own signals are blocked, seals and acknowledges. What
// follows waits for that at most 2 s:
//   - a fault, raise() and abort() of the process itself, and std::terminate wait where they are;
//     then a fault is met again where it occurred, the others are raised again;
//   - a signal from outside finds its thread anywhere, also inside the allocator, whose lock the
//     writer may need. So the handler returns, that thread goes on, and the writer raises the
//     signal again when all is sealed (another thread of ours, when the 2 s are over).
// Before it is raised the old action is put back: a process that survives (its own handler) goes on
// being captured, but that signal is no longer watched.
//
// A fault within the allocator itself can hold the writer up for those 2 s; then what was not yet
// sealed is lost.
//
// Signals that the process ignores are left alone. Process-wide state, because signal actions are;
// one writer at a time is on watch.
#pragma once

#include <optional>
#include <string>

#include "trace/segment.h"

namespace nanhunt::hooks {

struct DeathNotice {
  trace::CutReason reason = trace::CutReason::kSignal;
  std::string detail;  // "SIGSEGV", or the text of the exception
};

// Installs the handlers (again, where they are gone), an alternate stack for the calling thread,
// and puts `writer` on watch.
void watch_for_death(const void* writer);
// `writer` answers no more requests. Nothing happens when another one is on watch.
void end_death_watch(const void* writer);

// Readable when a request may be there; -1 before the first watch_for_death.
int death_request_fd();
// True while a dying thread waits for this writer.
bool death_pending(const void* writer);
// The request, also clears the descriptor; nullopt when there is none.
std::optional<DeathNotice> death_notice(const void* writer);
// Lets the dying threads go on, and what was put off happen: may not return.
void acknowledge_death();

}  // namespace nanhunt::hooks
