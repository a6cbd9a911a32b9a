// SPDX-License-Identifier: Apache-2.0
// Starts the ranks of a run, as threads of this process or as processes of their own, and tells how
// they ended. A rank that fails or dies aborts the world at once, so the others leave their
// collectives and unwind in order (recorders seal on the way).
//
// Threads: rank_main runs once per rank on a thread of its own. Processes: this program executes
// itself once per rank with the same arguments; in those children launch() runs rank_main for their
// rank. Call it before LibTorch is touched and return its result from main: nothing else may happen
// in the parent. Children end (SIGTERM) when the parent does; SIGTERM and SIGINT to the parent are
// passed on to them.
#pragma once

#include <functional>

#include "cases/mini/communicator.h"
#include "cases/mini/config.h"

namespace nanhunt::mini {

// Exit status of a rank that ended because another one did.
inline constexpr int kAbortedStatus = 75;

using RankMain = std::function<void(World& world, int rank)>;

// Exit status: 0; of the first failed rank 128 + signal, the status that it exited with, or for an
// exception 2 (trace::Error of kind usage), 4 (its other kinds) or 70 (any other). The reason, with
// the rank, goes to stderr.
int launch(const Config& config, const RankMain& rank_main);

}  // namespace nanhunt::mini
