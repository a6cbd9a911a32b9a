// SPDX-License-Identifier: Apache-2.0
// Runs one rank and turns how it ended into an exit status.
#pragma once

#include <string>

#include "cases/mini/launch.h"

namespace nanhunt::mini {

struct RankOutcome {
  int status = 0;      // as launch() documents; kAbortedStatus when another rank ended the run
  std::string reason;  // "" when status is 0
};

// An exception aborts the world with its text. Never throws.
RankOutcome run_rank(World& world, int rank, const RankMain& rank_main);

}  // namespace nanhunt::mini
