// SPDX-License-Identifier: Apache-2.0
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/full.h>

#include "cases/mini/adamw.h"

namespace nanhunt::mini {
namespace {

void fused_group(const Config& config, const OptimizerGradients& gradients, int64_t count,
                 bool decays) {
  std::vector<at::Tensor> masters, inputs, exp_avgs, exp_avg_sqs, counts;
  for (size_t i = 0; i < gradients.parameters.size(); ++i) {
    const Parameter& parameter = *gradients.parameters[i];
    if (parameter.decays != decays) continue;
    masters.push_back(parameter.master);
    inputs.push_back(gradients.gradients[i]);
    exp_avgs.push_back(parameter.exp_avg);
    exp_avg_sqs.push_back(parameter.exp_avg_sq);
    counts.push_back(at::full({}, static_cast<double>(count), at::kFloat));
  }
  at::_fused_adamw_(masters, inputs, exp_avgs, exp_avg_sqs, {}, counts, config.learning_rate,
                    config.beta1, config.beta2, decays ? config.weight_decay : 0.0, config.adam_eps,
                    false, false);
}

}  // namespace

void adamw_fused(const Config& config, const OptimizerGradients& gradients, int64_t count) {
  fused_group(config, gradients, count, true);
  fused_group(config, gradients, count, false);
}

}  // namespace nanhunt::mini
