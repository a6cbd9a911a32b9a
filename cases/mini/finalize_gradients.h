// SPDX-License-Identifier: Apache-2.0
// What happens to gradients between the data-parallel reduction and the optimizer (Megatron-LM
// core/distributed/finalize_model_grads.py, core/optimizer/clip_grads.py): gradients of
// sequence-parallel parameters are summed over tp, then all are clipped by their global norm.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "cases/mini/parameters.h"

namespace nanhunt::mini {

// Gradients as the optimizer consumes them, in the order of Parameters::reversed().
struct OptimizerGradients {
  std::vector<Parameter*> parameters;
  std::vector<at::Tensor> gradients;
  double norm = 0;
};

// TP sum, unscaled records, norm, clip. Changes main_grad in place.
OptimizerGradients finalize_gradients(RankContext& context, Parameters& parameters);

}  // namespace nanhunt::mini
