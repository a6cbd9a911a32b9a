// SPDX-License-Identifier: Apache-2.0
#include "hooks/collective_watch.h"

#include <algorithm>
#include <utility>

namespace nanhunt::hooks {
namespace {

bool touches(const CollectiveWatch::Issued& issued, const at::Tensor& tensor) {
  return std::any_of(issued.results.begin(), issued.results.end(),
                     [&](const at::Tensor& result) { return result.is_alias_of(tensor); });
}

// Without a word of the program: what has ended by the time it is read counts as waited for.
bool seems_waited(const CollectiveWatch::Issued& issued) {
  return !issued.wait_expected && issued.work.has_ended();
}

}  // namespace

CollectiveWatch::CollectiveWatch(RankTaps& taps, NamePoint name)
    : taps_(taps), name_(std::move(name)) {}

CollectiveWatch::Issued CollectiveWatch::issue(const C10dCall& call) {
  for (const at::Tensor& operand : call.operands) before_use(operand, false);
  std::vector<TapPoint> points;
  Issued issued;
  for (size_t i = 0; i < call.operands.size(); ++i) {
    points.push_back(name_(call, trace::Phase::kPreCollective, call.operands[i], i));
  }
  for (size_t i = 0; i < call.results.size(); ++i) {
    issued.points.push_back(name_(call, trace::Phase::kPostCollective, call.results[i], i));
  }
  issued.results = call.results;
  issued.segments = call.result_segments;
  issued.call = taps_.issue(call.collective, points, call.operands, call.operand_segments);
  return issued;
}

void CollectiveWatch::pending(Issued issued) {
  std::lock_guard lock(mutex_);
  pending_.push_back(std::move(issued));
  idle_.store(false, std::memory_order_release);
}

template <class Fits>
std::vector<CollectiveWatch::Issued> CollectiveWatch::take(Fits fits) {
  std::vector<Issued> taken;
  std::lock_guard lock(mutex_);
  for (auto issued = pending_.begin(); issued != pending_.end();) {
    if (fits(*issued)) {
      taken.push_back(std::move(*issued));
      issued = pending_.erase(issued);
    } else {
      ++issued;
    }
  }
  idle_.store(pending_.empty(), std::memory_order_release);
  return taken;
}

void CollectiveWatch::waited(const void* work) {
  for (const Issued& issued : take([&](const Issued& each) { return each.work.id() == work; })) {
    record(issued, true);
  }
}

void CollectiveWatch::waited(const at::Tensor& result) {
  for (const Issued& issued : take([&](const Issued& each) { return touches(each, result); })) {
    record(issued, true);
  }
}

void CollectiveWatch::before_use(const at::Tensor& tensor, bool overwritten) {
  if (!tensor.defined() || !tensor.has_storage()) return;
  const auto used = take([&](const Issued& each) {
    // A backend may fill its results while it is waited for: writing is no sign of a use then.
    return touches(each, tensor) && !(overwritten && !each.work.has_ended());
  });
  for (const Issued& issued : used) record(issued, seems_waited(issued));
}

void CollectiveWatch::finish() {
  for (const Issued& issued : take([](const Issued&) { return true; })) {
    record(issued, seems_waited(issued));
  }
}

bool CollectiveWatch::idle() const { return idle_.load(std::memory_order_acquire); }

void CollectiveWatch::record(const Issued& issued, bool waited) {
  CollectiveCall call = issued.call;
  call.waited = waited;
  taps_.complete(call, issued.points, issued.results, issued.segments);
}

}  // namespace nanhunt::hooks
