// SPDX-License-Identifier: Apache-2.0
// A step of a small model as tests of compare need it: parameters, a norm, a column-parallel and a
// row-parallel layer, the residual stream, gradients and clipping; on tp x dp ranks (dp ranks hold
// copies of the batch). Values are drawn, not computed, but keep the relations that rules check.
// `healthy` relative noise stands for the roundings of another layout.
#pragma once

#include <functional>

#include "tests/compare/trace_builder.h"

namespace nanhunt::compare::test {

// Changes values on their way into the trace: where a fault is planted.
using Edit = std::function<void(const Tap&, Values&)>;

struct SmallModel {
  int tp = 1;
  int steps = 1;
  double noise = 0;  // relative, of what a layout rounds otherwise
  uint64_t noise_seed = 1;
  Edit edit = [](const Tap&, Values&) {};
  bool links = true;
};

inline constexpr int64_t kSamples = 2, kTokens = 8, kChannels = 8, kWide = 16;

TraceBuilder build(const SmallModel& model);

}  // namespace nanhunt::compare::test
