// SPDX-License-Identifier: Apache-2.0
// RMSNorm with FP32 statistics: x / sqrt(mean(x^2) + eps) * weight, over channels.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "cases/mini/parameters.h"

namespace nanhunt::mini {

struct Norm {
  std::string site;
  Parameter* weight = nullptr;
};

// [tokens, samples, hidden], or a rank's tokens of it under sequence parallelism.
at::Tensor rms_norm(RankContext& context, const Norm& norm, const at::Tensor& input);

}  // namespace nanhunt::mini
