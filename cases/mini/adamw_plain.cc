// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include <ATen/TensorOperators.h>

#include "cases/mini/adamw.h"
#include "cases/mini/autograd.h"

namespace nanhunt::mini {

void adamw_plain(const Config& config, const OptimizerGradients& gradients, int64_t count) {
  const double t = static_cast<double>(count);
  const double correction1 = 1 - std::pow(config.beta1, t);
  const double correction2 = 1 - std::pow(config.beta2, t);
  for (size_t i = 0; i < gradients.parameters.size(); ++i) {
    Parameter& parameter = *gradients.parameters[i];
    const at::Tensor& gradient = gradients.gradients[i];
    parameter.exp_avg.mul_(config.beta1).add_(gradient, 1 - config.beta1);
    parameter.exp_avg_sq.mul_(config.beta2).addcmul_(gradient, gradient, 1 - config.beta2);
    const at::Tensor denominator =
        (parameter.exp_avg_sq / correction2).sqrt_().add_(config.adam_eps);
    parameter.master.mul_(1 - config.learning_rate * weight_decay_of(config, parameter));
    // Without masters each op rounds, as eager PyTorch does on BF16 weights.
    if (!config.masters) parameter.master.copy_(rounded(parameter.master, config.dtype));
    parameter.master.addcdiv_(parameter.exp_avg, denominator, -config.learning_rate / correction1);
  }
}

}  // namespace nanhunt::mini
