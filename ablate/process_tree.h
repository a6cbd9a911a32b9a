// SPDX-License-Identifier: Apache-2.0
// Processes that a child started, also those that left its process group: launchers like torchrun
// give each worker a session of its own, and a signal to the group never reaches it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

namespace nanhunt::ablate {

struct Process {
  pid_t pid = 0;
  uint64_t started = 0;  // clock ticks since boot: a number that was given away again is not killed
};

// All descendants of the process that live now. Ones whose parent is gone already are not found.
std::vector<Process> descendants(pid_t root);
// SIGKILL to those that are still the same process.
void kill_all(const std::vector<Process>& processes);

}  // namespace nanhunt::ablate
