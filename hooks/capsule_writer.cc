// SPDX-License-Identifier: Apache-2.0
#include "hooks/capsule_writer.h"

#include <cstdio>
#include <exception>
#include <utility>

#include "capsule/capsule.h"
#include "trace/step_files.h"

namespace nanhunt::hooks {
namespace {

trace::CapturePlan capture_plan(const CapsulePlan& plan) {
  trace::CapturePlan capture;
  capture.out = plan.folder;
  capture.phases = {std::string(trace::name_of(trace::Phase::kState))};
  if (plan.when_full == WhenFull::kWait) {
    capture.full_sites = {"**"};  // what is asked for by name is waited for (plan_filter.h)
    capture.full_phases = capture.phases;
  } else {
    capture.level = trace::Level::kFull;
  }
  capture.queue_bytes = plan.queue_bytes;
  return capture;
}

std::shared_ptr<const trace::Placement> scalar_placement() {
  static const auto placement = std::make_shared<const trace::Placement>(trace::whole({}, {}));
  return placement;
}

template <class Number>
trace::TensorView scalar_view(const Number& value, trace::DType dtype) {
  return trace::contiguous_view(&value, dtype, {});
}

CapsuleRing ring_of(const CapsulePlan& plan) {
  return {plan.folder, plan.keep, plan.when_full == WhenFull::kLeaveOut};
}

}  // namespace

RankCapsule::RankCapsule(RankRecorder& recorder, CapsulePlan plan, std::atomic<int64_t>& begun)
    : recorder_(&recorder), plan_(std::move(plan)), ring_(ring_of(plan_)), begun_(&begun) {}

void RankCapsule::begin(int64_t step) {
  const bool repeated = step == step_;
  step_ = step;
  open_ = !repeated && recorder_->on();
  if (repeated) return say("is written already, and stays as it is");
  if (!open_) return say("is not written: writing stopped, for the reason given above");
  prepare();
  recorder_->begin_step(step);
  add(capsule::kRunSite, capsule::kRunRole, static_cast<int64_t>(plan_.run));
}

void RankCapsule::say(const std::string& what) const {
  std::fprintf(stderr, "nanhunt: capsule of step %lld, rank %d: it %s\n",
               static_cast<long long>(step_), recorder_->facts().rank, what.c_str());
}

void RankCapsule::add(const std::string& site, const std::string& role,
                      const trace::TensorView& tensor,
                      std::shared_ptr<const trace::Placement> placement) {
  if (!open_) return;
  Observation observation;
  observation.site = site;
  observation.phase = trace::Phase::kState;
  observation.role = role;
  observation.tensor = tensor;
  observation.compute = tensor.dtype;
  observation.placement = std::move(placement);
  recorder_->record(observation);
}

void RankCapsule::add(const std::string& site, const std::string& role, int64_t value) {
  add(site, role, scalar_view(value, trace::DType::kInt64), scalar_placement());
}

void RankCapsule::add(const std::string& site, const std::string& role, double value) {
  add(site, role, scalar_view(value, trace::DType::kFloat64), scalar_placement());
}

void RankCapsule::end() {
  if (!std::exchange(open_, false)) return;
  recorder_->end_step();
  if (!recorder_->on()) say("is not whole: writing stopped, for the reason given above");
}

void RankCapsule::prepare() noexcept {
  try {
    const int32_t rank = recorder_->facts().rank;
    if (rank == 0) {
      ring_.forget_older_than(step_);
      begun_->store(step_);
    }
    remove_segments(plan_.folder, step_, rank);
  } catch (const std::exception& error) {
    recorder_->fail(error.what());
  }
}

CapsuleWriter::CapsuleWriter(CapsulePlan plan)
    : plan_(std::move(plan)), recorder_(capture_plan(plan_)) {}

RankCapsule CapsuleWriter::add_rank(trace::RunFacts facts) {
  facts.facts[trace::kRunFact] = std::to_string(plan_.run);
  return {recorder_.add_rank(std::move(facts)), plan_, begun_};
}

CapsuleWriter::~CapsuleWriter() {
  close();
}

void CapsuleWriter::close() {
  recorder_.close();
  const int64_t newest = begun_.exchange(-1);
  if (newest < 0) return;
  try {
    ring_of(plan_).forget_older_than(newest);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "nanhunt: older capsules stay: %s\n", error.what());
  }
}

}  // namespace nanhunt::hooks
