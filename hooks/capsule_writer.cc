// SPDX-License-Identifier: Apache-2.0
#include "hooks/capsule_writer.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "capsule/capsule.h"

namespace nanhunt::hooks {
namespace {

namespace fs = std::filesystem;

trace::CapturePlan capture_plan(const CapsulePlan& plan) {
  trace::CapturePlan capture;
  capture.out = plan.folder;
  capture.level = trace::Level::kFull;
  capture.phases = {std::string(trace::name_of(trace::Phase::kState))};
  capture.queue_bytes = plan.queue_bytes;
  return capture;
}

std::optional<int64_t> step_of(const fs::path& folder) {
  constexpr std::string_view kPrefix = "step-";
  const std::string name = folder.filename().string();
  if (!name.starts_with(kPrefix)) return std::nullopt;
  int64_t step = 0;
  const char* end = name.data() + name.size();
  const auto [rest, error] = std::from_chars(name.data() + kPrefix.size(), end, step);
  return error == std::errc() && rest == end ? std::optional(step) : std::nullopt;
}

std::shared_ptr<const trace::Placement> scalar_placement() {
  static const auto placement = std::make_shared<const trace::Placement>(trace::whole({}, {}));
  return placement;
}

template <class Number>
trace::TensorView scalar_view(const Number& value, trace::DType dtype) {
  return trace::contiguous_view(&value, dtype, {});
}

}  // namespace

RankCapsule::RankCapsule(RankRecorder& recorder, CapsulePlan plan)
    : recorder_(&recorder), plan_(std::move(plan)) {}

void RankCapsule::begin(int64_t step) {
  if (plan_.keep > 0 && recorder_->facts().rank == 0) forget_old(step);
  recorder_->begin_step(step);
  add(capsule::kRunSite, capsule::kRunRole, static_cast<int64_t>(plan_.run));
}

void RankCapsule::add(const std::string& site, const std::string& role,
                      const trace::TensorView& tensor,
                      std::shared_ptr<const trace::Placement> placement) {
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
  recorder_->end_step();
}

void RankCapsule::forget_old(int64_t step) noexcept {
  try {
    std::error_code ignored;  // what cannot be removed stays
    std::vector<std::pair<int64_t, fs::path>> older;
    for (const auto& entry : fs::directory_iterator(plan_.folder, ignored)) {
      const auto found = step_of(entry.path());
      if (found && *found < step) older.emplace_back(*found, entry.path());
    }
    std::ranges::sort(older);
    const auto keep = std::min(older.size(), static_cast<size_t>(plan_.keep));
    for (size_t i = 0; i + keep < older.size(); ++i) fs::remove_all(older[i].second, ignored);
  } catch (const std::exception& error) {
    recorder_->fail(error.what());
  }
}

CapsuleWriter::CapsuleWriter(CapsulePlan plan)
    : plan_(std::move(plan)), recorder_(capture_plan(plan_)) {}

RankCapsule CapsuleWriter::add_rank(trace::RunFacts facts) {
  return {recorder_.add_rank(std::move(facts)), plan_};
}

void CapsuleWriter::close() {
  recorder_.close();
}

}  // namespace nanhunt::hooks
