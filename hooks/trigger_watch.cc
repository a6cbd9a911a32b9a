// SPDX-License-Identifier: Apache-2.0
#include "hooks/trigger_watch.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <set>

namespace nanhunt::hooks {
namespace {

using trace::TriggerKind;

std::string short_number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

std::string name_of(const trace::Record& record) {
  return record.what.site + ' ' + std::string(trace::name_of(record.what.phase)) + ' ' +
         record.what.role;
}

// The one element of a record.
double value_of(const trace::Statistics& statistics) {
  if (statistics.nan > 0) return std::numeric_limits<double>::quiet_NaN();
  if (statistics.pos_inf > 0) return std::numeric_limits<double>::infinity();
  if (statistics.neg_inf > 0) return -std::numeric_limits<double>::infinity();
  return statistics.sum;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

bool measures(const trace::Trigger& trigger, const trace::Record& record) {
  if (record.statistics.count != 1) return false;
  if (trigger.kind == TriggerKind::kLoss) return record.what.phase == trace::Phase::kLoss;
  return trigger.kind == TriggerKind::kGradNorm && record.what.role == "grad_norm";
}

}  // namespace

TriggerWatch::TriggerWatch(std::vector<trace::Trigger> triggers, int32_t ring_steps)
    : history_(std::max(ring_steps, kLeastHistory)) {
  for (const trace::Trigger& trigger : triggers) armed_.push_back({.trigger = trigger});
}

void TriggerWatch::begin_step(int64_t step) {
  if (steps_seen_ > 0 && step == step_) return;  // begun again
  step_ = step;
  ++steps_seen_;
  norm_recorded_ = false;
  gradient_squares_.reset();
  for (Armed& armed : armed_) armed.held_before = std::exchange(armed.held, false);
}

std::optional<Fired> TriggerWatch::fire(Armed& armed, const std::string& detail) {
  if (std::exchange(armed.held, true) || armed.held_before) return std::nullopt;
  return Fired{trace::text_of(armed.trigger), step_, detail};
}

std::optional<Fired> TriggerWatch::jump(Armed& armed, const std::string& name, double value) {
  armed.met = true;
  // Two triggers may watch one record with other factors: each has its own series.
  Series& series = series_[trace::text_of(armed.trigger) + '\n' + name];
  std::vector<double> earlier;
  std::set<int64_t> steps;
  for (const Value& old : series) {
    if (old.step == step_) continue;
    earlier.push_back(old.value);
    steps.insert(old.step);
  }
  if (std::isfinite(value)) series.push_back({step_, value});
  while (std::cmp_greater(steps.size(), history_) && series.front().step == *steps.begin())
    series.pop_front();
  if (steps.size() < kLeastSteps) return std::nullopt;
  const double middle = median(std::move(earlier));
  const double allowed = armed.trigger.factor * std::abs(middle);
  if (middle == 0 || value <= allowed) return std::nullopt;
  return fire(armed, name + ", rank " + std::to_string(rank_) + ": measured " +
                         short_number(value) + ", allowed " + short_number(allowed) + " (" +
                         short_number(armed.trigger.factor) + " x the median " +
                         short_number(middle) + " of " + std::to_string(steps.size()) +
                         " earlier steps)");
}

void TriggerWatch::add_gradient(const trace::Record& record) {
  if (record.what.role == "grad_norm") norm_recorded_ = true;
  if (record.what.phase != trace::Phase::kUnscaled || record.what.role != "grad") return;
  const double squares = record.statistics.non_finite() > 0
                             ? std::numeric_limits<double>::quiet_NaN()
                             : record.statistics.sum_squares;
  gradient_squares_ = gradient_squares_.value_or(0) + squares;
}

std::optional<Fired> TriggerWatch::see(const trace::Record& record) {
  rank_ = record.where.rank;
  add_gradient(record);
  std::optional<Fired> first;
  for (Armed& armed : armed_) {
    std::optional<Fired> fired;
    if (armed.trigger.kind == TriggerKind::kNonFinite) {
      if (const uint64_t bad = trace::non_finite_elements(record); bad > 0)
        fired = fire(armed, name_of(record) + ", rank " + std::to_string(rank_) + ": measured " +
                                std::to_string(bad) + " NaN or Inf, allowed 0");
    } else if (measures(armed.trigger, record)) {
      fired = jump(armed, name_of(record), value_of(record.statistics));
    }
    if (!first) first = std::move(fired);
  }
  return first;
}

std::optional<Fired> TriggerWatch::end_step() {
  if (norm_recorded_ || !gradient_squares_) return std::nullopt;
  const double norm = std::sqrt(*std::exchange(gradient_squares_, std::nullopt));
  std::optional<Fired> first;
  for (Armed& armed : armed_) {
    if (armed.trigger.kind != TriggerKind::kGradNorm) continue;
    auto fired = jump(armed, "norm of the unscaled gradients", norm);
    if (!first) first = std::move(fired);
  }
  return first;
}

std::string TriggerWatch::unmatched() const {
  std::string words;
  for (const Armed& armed : armed_) {
    const bool jumps =
        armed.trigger.kind == TriggerKind::kLoss || armed.trigger.kind == TriggerKind::kGradNorm;
    if (jumps && !armed.met) words += (words.empty() ? "" : ", ") + text_of(armed.trigger);
  }
  return words;
}

}  // namespace nanhunt::hooks
