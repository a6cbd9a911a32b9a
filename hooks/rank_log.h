// SPDX-License-Identifier: Apache-2.0
// What the writer holds of one rank: the segment that grows now, its step, and the collectives that
// are issued and not yet waited for. Writer thread only; touches no file.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hooks/cut_policy.h"
#include "hooks/queue_item.h"

namespace nanhunt::hooks {

// A segment ready to be written, and what becomes of its reservations and waiters then.
struct CutSegment {
  trace::Segment segment;
  int slot = 0;
  int64_t bytes = 0;
  std::vector<std::shared_ptr<SealLatch>> waiters;
};

// Adds to the counts of what was left out.
void add_dropped(trace::Segment& segment, const std::string& reason, int64_t count);

class RankLog {
 public:
  RankLog(int slot, trace::RunFacts facts);

  // Takes one item in. When the item ends the segment by itself (step end, CutNow, a step begun
  // while another is open), the segment is appended to `out`.
  void accept(QueueItem item, std::vector<CutSegment>& out);

  const Growth& growth() const { return growth_; }
  bool in_step() const { return in_step_; }
  // The last cut said how the process died, and nothing came since.
  bool died() const { return died_; }
  // Appends what is there, even an empty segment, when a step is open. Cuts that may be the last
  // ones of the process (exception, signal, close, step end) include the collectives nobody waited
  // for.
  void cut(trace::CutReason reason, const std::string& detail, std::vector<CutSegment>& out);
  // Same, of the last cut of the process: none when the previous one already said how it died and
  // nothing came since. Between steps a death is a segment without rows behind the end of the last
  // step, and a close is nothing.
  void cut_at_end(trace::CutReason reason, const std::string& detail,
                  std::vector<CutSegment>& out);
  // A segment without rows that takes nothing from the open one; nullopt before the first step.
  std::optional<CutSegment> note(trace::CutReason reason, const std::string& detail) const;
  void set_fact(const std::string& key, const std::string& value) { facts_.facts[key] = value; }

 private:
  void begin_step(int64_t step, std::vector<CutSegment>& out);
  void add_row(Row& row, const QueueItem& item);
  void complete(CollectiveCompleted& completed);
  void append_open_collectives();
  CutSegment fresh() const;

  int slot_;
  trace::RunFacts facts_;
  bool in_step_ = false;
  bool any_step_ = false;
  bool died_ = false;
  int64_t step_ = 0;
  int32_t next_index_ = 0;
  CutSegment open_;
  Growth growth_;
  std::map<int64_t, trace::Collective> issued_;
};

}  // namespace nanhunt::hooks
