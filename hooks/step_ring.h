// SPDX-License-Identifier: Apache-2.0
// The memory of a ring: the segments of each rank's last steps, cut but not written. A rank keeps
// its last `steps` finished steps and the one that it is in. Over the byte bound, over all ranks of
// the process, the oldest values go first, then the oldest steps, then rows of the step that is
// left; the segments say what went (`dropped`). Writer thread only; touches no file.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "hooks/rank_log.h"

namespace nanhunt::hooks {

class StepRing {
 public:
  explicit StepRing(int32_t steps) : steps_(steps) {}

  // Takes a segment in; frees nothing. What it held in the queue is no longer its own.
  void keep(CutSegment cut);
  // Forgets steps that are too old, then drops until at most `limit` bytes are left. Not while a
  // thread dies: the memory may be of its arena (trace_writer.h).
  void trim(int64_t limit);
  // All that is kept, the newest step first: when time is short, it is the one that matters.
  std::vector<CutSegment> take_all();

  int64_t bytes() const { return bytes_; }
  bool empty() const { return kept_.empty(); }

 private:
  struct KeptStep {
    int slot = 0;
    int64_t step = 0;
    std::vector<CutSegment> segments = {};
    int64_t bytes = 0;
    int64_t value_bytes = 0;
    bool too_old = false;
  };

  KeptStep& step_of(const CutSegment& cut);
  void forget_old();
  void drop_values(KeptStep& kept, int64_t limit);
  void drop_step();
  void drop_rows(KeptStep& kept, int64_t limit);
  void charge(KeptStep& kept, int64_t bytes);

  const int32_t steps_;
  std::deque<KeptStep> kept_;             // in the order in which the steps began
  std::map<int, int64_t> steps_dropped_;  // by slot: for want of memory, not for age
  int64_t bytes_ = 0;
};

}  // namespace nanhunt::hooks
