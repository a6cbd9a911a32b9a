// SPDX-License-Identifier: Apache-2.0
// What a step of the subject starts from, in one list: capsules are written from it, and loaded
// into it. Parameters and moments alias the model's memory.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "cases/mini/model.h"

namespace nanhunt::mini {

struct StateTensor {
  std::string site, role;  // docs/capsule.md
  SharedPlacement placement;
  at::Tensor tensor;  // contiguous
};

// Values, masters and moments of this rank.
std::vector<StateTensor> parameter_state(RankContext& context, Model& model);
// This rank's samples of the step's batch.
std::vector<StateTensor> batch_state(RankContext& context, const Batch& batch);
// Counters and settings that all ranks share, at context.step.
std::vector<StateTensor> shared_state(RankContext& context);

}  // namespace nanhunt::mini
