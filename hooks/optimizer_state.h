// SPDX-License-Identifier: Apache-2.0
// What torch::optim's optimizers hold about a parameter, read for the records of the update.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <utility>
#include <vector>

namespace torch::optim {
class Optimizer;
}

namespace nanhunt::hooks {

struct ParameterUpdate {
  std::string op;          // "adamw", "adam", "sgd"; "" an optimizer that we do not know
  std::string attributes;  // JSON: lr, beta1, beta2, eps, weight_decay, step, momentum
  std::vector<std::pair<std::string, at::Tensor>>
      moments;  // by role: exp_avg, exp_avg_sq, momentum
};

ParameterUpdate update_of(torch::optim::Optimizer& optimizer, const at::Tensor& parameter);

}  // namespace nanhunt::hooks
