// SPDX-License-Identifier: Apache-2.0
// Looks at the rows of one rank for what the plan's triggers wait for. Pure: no clock, no file.
//
// A trigger fires when its condition holds and did not hold in the step before, so that a NaN that
// stays in the weights fires once, not in every step. Jumps are measured against the median of the
// same record (site and role) in the steps before, at least kLeastSteps of them; a value that is
// not finite is above every limit.
//
// gnorm: a one-element record of role grad_norm. A program that records none is watched by the norm
// of its phase `unscaled` gradients on this rank, at the end of the step.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trace/record.h"
#include "trace/trigger.h"

namespace nanhunt::hooks {

inline constexpr size_t kLeastSteps = 3;
inline constexpr int32_t kLeastHistory = 8;  // steps remembered for the median, whatever the ring

struct Fired {
  std::string trigger;  // its word
  int64_t step = 0;
  std::string detail;  // "loss loss loss, rank 0: measured 9.1, allowed 4.2 (2 x the median ...)"
};

class TriggerWatch {
 public:
  TriggerWatch(std::vector<trace::Trigger> triggers, int32_t ring_steps);

  void begin_step(int64_t step);
  std::optional<Fired> see(const trace::Record& record);
  std::optional<Fired> end_step();

  int64_t step() const { return step_; }
  int64_t steps_seen() const { return steps_seen_; }
  // Words of the jump triggers that met no record to measure, comma separated.
  std::string unmatched() const;

 private:
  // One trigger, and in which steps its condition held.
  struct Armed {
    trace::Trigger trigger;
    bool held_before = false, held = false;
    bool met = false;  // there was something to measure
  };
  struct Value {
    int64_t step = 0;
    double value = 0;
  };
  using Series = std::deque<Value>;

  std::optional<Fired> fire(Armed& armed, const std::string& detail);
  std::optional<Fired> jump(Armed& armed, const std::string& name, double value);
  void add_gradient(const trace::Record& record);

  std::vector<Armed> armed_;
  int32_t history_;
  int64_t step_ = -1;
  int64_t steps_seen_ = 0;
  std::map<std::string, Series> series_;  // by what it is, as it is called in `detail`
  bool norm_recorded_ = false;            // in this step
  std::optional<double> gradient_squares_;
  int32_t rank_ = 0;
};

}  // namespace nanhunt::hooks
