// SPDX-License-Identifier: Apache-2.0
// Ring and trigger: what the writer does with segments when the plan asks for a ring. They stay in
// memory (step_ring.h) until a trigger fires on a rank of this process or, told by a file, on
// another. Then the ring is written, the rest of the step, and one further step; after that the
// ring is filled again. Writer thread only.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "hooks/rank_log.h"
#include "hooks/step_ring.h"
#include "hooks/trigger_files.h"
#include "hooks/trigger_watch.h"
#include "trace/capture_plan.h"

namespace nanhunt::hooks {

class Ring {
 public:
  explicit Ring(const trace::CapturePlan& plan);

  // Looks at an item before the rank's log takes it. Asking for a seal fires too ("seal").
  std::optional<Fired> look(const QueueItem& item);
  // What fired in another process.
  std::optional<Fired> heard() { return files_.heard(); }
  // The end of the process as a trigger; nullopt when the plan does not wait for it.
  std::optional<Fired> at_exit(const std::string& how) const;
  // From now on segments of the step and the next are written. What is to be written of the past.
  std::vector<CutSegment> fire(const Fired& fired);
  void announce(const Fired& fired) { files_.announce(fired); }

  // False when an earlier trigger has the step written anyway.
  bool is_news(const Fired& fired) const { return !last_ || fired.step > write_until_; }
  bool holds(const CutSegment& cut) const { return cut.segment.step > write_until_; }
  StepRing& memory() { return memory_; }
  bool ever_fired() const { return last_.has_value(); }
  // Says in the segment's facts how it came to be written.
  void stamp(CutSegment& cut) const;
  // "ring: 400 steps watched, no trigger fired"
  std::string nothing_fired(int slot) const;

 private:
  const trace::CapturePlan plan_;
  std::map<int, TriggerWatch> watches_;  // by slot
  StepRing memory_;
  TriggerFiles files_;
  std::optional<Fired> last_;
  int64_t newest_ = 0;  // step, of any rank
  int64_t write_until_ = std::numeric_limits<int64_t>::min();
};

}  // namespace nanhunt::hooks
