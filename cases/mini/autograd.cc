// SPDX-License-Identifier: Apache-2.0
#include "cases/mini/autograd.h"

#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>

#include <utility>

#include "trace/check.h"

namespace nanhunt::mini {
namespace {

struct ClosureNode : torch::autograd::Node {
  Backward backward;

  torch::autograd::variable_list apply(torch::autograd::variable_list&& gradients) override {
    if (!gradients[0].defined()) return torch::autograd::variable_list(num_outputs());
    return backward(gradients[0]);
  }
  void release_variables() override { backward = nullptr; }
};

}  // namespace

at::Tensor with_backward(const std::vector<at::Tensor>& inputs,
                         const std::function<at::Tensor()>& forward, Backward backward) {
  at::Tensor output;
  {
    at::NoGradGuard no_grad;
    output = forward();
  }
  bool differentiable = false;
  for (const at::Tensor& input : inputs) differentiable |= input.requires_grad();
  if (!differentiable || !at::GradMode::is_enabled()) return output;
  NANHUNT_CHECK(output.is_leaf());
  auto node = std::make_shared<ClosureNode>();
  node->backward = std::move(backward);
  node->set_next_edges(torch::autograd::collect_next_edges(inputs));
  torch::autograd::set_history(output, node);
  return output;
}

at::Tensor rounded(const at::Tensor& values, trace::DType dtype) {
  switch (dtype) {
    case trace::DType::kFloat32:
      return values;
    case trace::DType::kBFloat16:
      return values.to(at::kBFloat16).to(at::kFloat);
    case trace::DType::kFloat16:
      return values.to(at::kHalf).to(at::kFloat);
    default:
      NANHUNT_CHECK(false);
  }
  return values;
}

}  // namespace nanhunt::mini
