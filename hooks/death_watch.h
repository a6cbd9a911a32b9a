// SPDX-License-Identifier: Apache-2.0
// Termination signals and uncaught exceptions, turned into a request to the writer thread.
//
// The handler only stores numbers, writes to an eventfd and polls, all of which is
// async-signal-safe; the writer, whose own signals are blocked, seals and acknowledges. The handler
// waits for that at most 2 s, puts the old action back and lets the signal happen: a fault is met
// again where it occurred, every other signal is raised again. A process that survives (its own
// handler) goes on being captured, but that signal is no longer watched.
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
// Lets the dying threads go on.
void acknowledge_death();

}  // namespace nanhunt::hooks
