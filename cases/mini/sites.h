// SPDX-License-Identifier: Apache-2.0
// Declared points of the model: where an activation or its gradient is rounded to the training type
// and shown to the taps.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "cases/mini/rank_context.h"

namespace nanhunt::mini {

struct Site {
  std::string name;
  std::string op;
  ActivationLayout layout;
  std::string attributes = {};
};

hooks::TapPoint activation_point(RankContext& context, const Site& site, trace::Phase phase,
                                 const std::string& role);

// Output of a site: rounded and recorded (forward, output); so is its gradient (backward,
// grad_output).
at::Tensor site_output(RankContext& context, const Site& site, const at::Tensor& tensor);
// The same, the gradient rounded but not recorded.
at::Tensor site_output_only(RankContext& context, const Site& site, const at::Tensor& tensor);
// Passes a tensor on; its gradient is rounded and recorded (backward, `role`).
at::Tensor site_gradient(RankContext& context, const Site& site, const std::string& role,
                         const at::Tensor& tensor);

}  // namespace nanhunt::mini
