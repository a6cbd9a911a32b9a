// SPDX-License-Identifier: Apache-2.0
// The ranks as processes: the parent's and the child's half of launch().
#pragma once

#include "cases/mini/launch.h"

namespace nanhunt::mini {

// True in a process that launch_processes started.
bool is_rank_process();
// The child's half: attaches and runs its rank.
int run_rank_process(const RankMain& rank_main);
// The parent's half: creates the world, starts the ranks and waits for them.
int launch_processes(const Config& config);

}  // namespace nanhunt::mini
