// SPDX-License-Identifier: Apache-2.0
#include "cases/mini/run_recorders.h"

#include <cstdio>
#include <utility>

namespace nanhunt::mini {
namespace {

std::optional<trace::CapturePlan> plan_of(const std::optional<trace::CapturePlan>& plan,
                                          int repeat) {
  if (!plan || plan->repeats <= 1) return plan;
  trace::CapturePlan own = *plan;
  char folder[16];
  std::snprintf(folder, sizeof folder, "%03d", repeat);
  own.out = plan->out / folder;
  own.repeats = 1;
  if (repeat == 0) own.perturbation.reset();
  if (own.perturbation) own.perturbation->seed += repeat;
  return own;
}

}  // namespace

RunRecorders::RunRecorders(std::optional<trace::CapturePlan> plan, int ranks)
    : plan_(std::move(plan)), ranks_(ranks) {}

int RunRecorders::repeats() const { return plan_ ? plan_->repeats : 1; }

hooks::Recorder& RunRecorders::of_repeat(int repeat) {
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[repeat];
  if (!entry.recorder) {
    entry.recorder = std::make_unique<hooks::Recorder>(plan_of(plan_, repeat));
    entry.ranks_left = ranks_;
    if (repeat == 0) entry.recorder->seal_on_death();
  }
  return *entry.recorder;
}

void RunRecorders::leave(int repeat) {
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[repeat];
  if (--entry.ranks_left == 0) entry.recorder.reset();
}

}  // namespace nanhunt::mini
