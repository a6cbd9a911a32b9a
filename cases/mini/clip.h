// SPDX-License-Identifier: Apache-2.0
// Global gradient norm and clipping (Megatron-LM core/optimizer/clip_grads.py). Each logical
// element counts once: shards on every tp rank, replicated parameters on tp rank 0 alone. Squares
// are summed in FP64 on the rank and in FP32 over tp.
//   factor = min(1, max_norm / (norm + 1e-6)); always applied, so a NaN norm gives NaN gradients.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "cases/mini/parameters.h"

namespace nanhunt::mini {

// A scalar with the sequence number of its record.
struct TappedScalar {
  double value = 0;
  int64_t record = -1;
};

TappedScalar global_norm(RankContext& context, const std::vector<Parameter*>& parameters,
                         const std::vector<at::Tensor>& gradients);
TappedScalar clip_factor(RankContext& context, const TappedScalar& norm);

hooks::TapPoint optimizer_point(RankContext& context, trace::Phase phase, const std::string& role,
                                const std::string& attributes = {});

}  // namespace nanhunt::mini
