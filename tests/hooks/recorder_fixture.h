// SPDX-License-Identifier: Apache-2.0
// A folder for one test's trace, and short ways to make observations.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "hooks/recorder.h"
#include "tests/support/scratch_folder.h"
#include "trace/trace_reader.h"

namespace nanhunt::hooks {

class TraceFolder {
 public:
  std::filesystem::path trace() const { return folder_ / "trace"; }

 private:
  ScratchFolder folder_;
};

inline trace::CapturePlan plan_into(const TraceFolder& folder,
                                    trace::Level level = trace::Level::kStats) {
  trace::CapturePlan plan;
  plan.out = folder.trace();
  plan.level = level;
  return plan;
}

inline trace::RunFacts facts_of_rank(int rank, int world_size = 1) {
  trace::RunFacts facts;
  facts.rank = rank;
  facts.world_size = world_size;
  facts.mesh_size[static_cast<int>(trace::MeshAxis::kDp)] = world_size;
  facts.mesh_coordinate[static_cast<int>(trace::MeshAxis::kDp)] = rank;
  facts.host = "host";
  return facts;
}

// Observes `values` as a vector on one axis; the vector must outlive the call to record().
inline Observation observe(const std::string& site, const std::vector<float>& values,
                           trace::Phase phase = trace::Phase::kForward) {
  Observation observation;
  observation.site = site;
  observation.phase = phase;
  observation.role = "output";
  observation.tensor = trace::contiguous_view(values.data(), trace::DType::kFloat32,
                                              {static_cast<int64_t>(values.size())});
  observation.placement = std::make_shared<trace::Placement>(
      trace::whole({"channel"}, {static_cast<int64_t>(values.size())}));
  return observation;
}

// How often the step says that something was left out for a reason that starts so.
inline int64_t left_out(const trace::Step& step, const std::string& reason) {
  int64_t count = 0;
  for (const auto& [text, times] : step.dropped)
    if (text.starts_with(reason)) count += times;
  return count;
}

}  // namespace nanhunt::hooks
