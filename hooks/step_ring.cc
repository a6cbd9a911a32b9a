// SPDX-License-Identifier: Apache-2.0
#include "hooks/step_ring.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace nanhunt::hooks {
namespace {

int64_t value_bytes_of(const trace::Segment& segment) {
  int64_t bytes = 0;
  for (const auto& values : segment.values) bytes += static_cast<int64_t>(values.size());
  return bytes;
}

}  // namespace

StepRing::KeptStep& StepRing::step_of(const CutSegment& cut) {
  for (KeptStep& kept : kept_)
    if (kept.slot == cut.slot && kept.step == cut.segment.step) return kept;
  kept_.push_back({.slot = cut.slot, .step = cut.segment.step});
  return kept_.back();
}

void StepRing::charge(KeptStep& kept, int64_t bytes) {
  kept.bytes += bytes;
  bytes_ += bytes;
}

void StepRing::keep(CutSegment cut) {
  KeptStep& kept = step_of(cut);
  kept.value_bytes += value_bytes_of(cut.segment);
  charge(kept, cut.bytes);
  kept.segments.push_back(std::move(cut));
}

void StepRing::trim(int64_t limit) {
  forget_old();
  for (KeptStep& kept : kept_)
    if (bytes_ > limit && kept.value_bytes > 0) drop_values(kept, limit);
  while (bytes_ > limit && kept_.size() > 1) drop_step();
  if (bytes_ > limit && !kept_.empty()) drop_rows(kept_.front(), limit);
}

void StepRing::forget_old() {
  std::map<int, int32_t> newer;  // finished steps met so far, by slot
  for (auto kept = kept_.rbegin(); kept != kept_.rend(); ++kept) {
    const bool latest = !newer.contains(kept->slot);
    const bool finished = kept->segments.back().segment.cut == trace::CutReason::kStepEnd;
    int32_t& count = newer[kept->slot];
    kept->too_old = count >= steps_;
    count += !latest || finished;
    if (kept->too_old) bytes_ -= kept->bytes;
  }
  std::erase_if(kept_, [](const KeptStep& kept) { return kept.too_old; });
}

void StepRing::drop_values(KeptStep& kept, int64_t limit) {
  for (CutSegment& cut : kept.segments) {
    int64_t dropped = 0;
    for (size_t i = 0; i < cut.segment.values.size() && bytes_ > limit; ++i) {
      auto& values = cut.segment.values[i];
      if (values.empty()) continue;
      const auto size = static_cast<int64_t>(values.size());
      charge(kept, -size);
      kept.value_bytes -= size;
      cut.bytes -= size;
      std::vector<std::byte>().swap(values);
      cut.segment.records[i].has_values = false;
      ++dropped;
    }
    if (dropped > 0) add_dropped(cut.segment, "ring: values", dropped);
  }
}

void StepRing::drop_step() {
  bytes_ -= kept_.front().bytes;
  ++steps_dropped_[kept_.front().slot];
  kept_.pop_front();
}

// The step that is left is larger than the bound by its rows alone.
void StepRing::drop_rows(KeptStep& kept, int64_t limit) {
  for (CutSegment& cut : kept.segments) {
    if (bytes_ <= limit) return;
    if (cut.segment.records.empty()) continue;
    add_dropped(cut.segment, "ring: rows", std::ssize(cut.segment.records));
    std::vector<trace::Record>().swap(cut.segment.records);
    std::vector<std::vector<std::byte>>().swap(cut.segment.values);
    charge(kept, -std::exchange(cut.bytes, 0));
  }
}

std::vector<CutSegment> StepRing::take_all() {
  for (KeptStep& kept : kept_) {
    const auto dropped = steps_dropped_.find(kept.slot);
    if (dropped == steps_dropped_.end()) continue;
    add_dropped(kept.segments.front().segment, "ring: steps", dropped->second);
    steps_dropped_.erase(dropped);
  }
  std::stable_sort(kept_.begin(), kept_.end(),
                   [](const KeptStep& a, const KeptStep& b) { return a.step > b.step; });
  std::vector<CutSegment> all;
  for (KeptStep& kept : kept_)
    std::move(kept.segments.begin(), kept.segments.end(), std::back_inserter(all));
  kept_.clear();
  bytes_ = 0;
  return all;
}

}  // namespace nanhunt::hooks
