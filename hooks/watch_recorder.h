// SPDX-License-Identifier: Apache-2.0
// The process's recorder behind all its Watches: made by the first, closed when the last goes.
#pragma once

#include <memory>

#include "hooks/recorder.h"
#include "hooks/watch.h"

namespace nanhunt::hooks {

struct WatchedRank {
  std::shared_ptr<Recorder> recorder;
  RankRecorder* rank = nullptr;
};

// Never throw: what is wrong (launcher's variables, the plan) is one line on stderr, and the rank
// is off. The second takes the caller's word for rank, mesh and facts, and adds what it knows
// itself.
WatchedRank watched_rank(const WatchOptions& options);
WatchedRank watched_rank(const trace::RunFacts& facts);

}  // namespace nanhunt::hooks
