// SPDX-License-Identifier: Apache-2.0
#include "cases/mini/parameters.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cmath>

#include "cases/mini/autograd.h"
#include "cases/mini/releases.h"
#include "cases/mini/weights.h"

namespace nanhunt::mini {
namespace {

at::Tensor draw_logical(const Config& config, const ParameterRequest& request) {
  const std::vector<int64_t>& shape = request.layout.logical_shape;
  if (request.initial == Initial::kOnes) return at::ones(shape, at::kFloat);
  const double scale =
      request.initial == Initial::kScaledNormal ? std::sqrt(2.0 * config.layers) : 1.0;
  int64_t numel = 1;
  for (const int64_t extent : shape) numel *= extent;
  std::vector<float> values =
      draw_weight(request.name, numel, config.init_std / scale, config.seed);
  return at::from_blob(values.data(), shape, at::kFloat).clone();
}

// One row of a large model that was trained in BF16: its products leave FP16, its weights do not.
void enlarge_row(const RankContext& context, const std::string& name, const at::Tensor& logical) {
  const std::string enlarged =
      "decoder.layers." + std::to_string(context.fault.layer) + ".mlp.linear_fc1.weight";
  if (context.fault.name == FaultName::kLargeMlpWeight && name == enlarged) {
    logical.select(0, context.fault.element % logical.size(0)).mul_(5e5).clamp_(-6e4, 6e4);
  }
}

at::Tensor slice(const RankContext& context, const ParameterLayout& layout,
                 const at::Tensor& logical) {
  if (layout.sharded_dim < 0) return logical;
  const int64_t extent = logical.size(layout.sharded_dim) / context.config.tp;
  return logical.narrow(layout.sharded_dim, context.mesh.tp_rank * extent, extent)
      .clone(at::MemoryFormat::Contiguous);
}

// One ulp is one of the training type, so the master moves by as much as the value.
at::Tensor perturbed(RankContext& context, const std::string& name, const at::Tensor& master) {
  const auto& plan = context.taps.recorder().plan().perturbation;
  if (!context.taps.on() || !plan || !plan->ulp_parameters) return master;
  at::Tensor value = master;
  if (context.config.dtype == trace::DType::kBFloat16) value = master.to(at::kBFloat16);
  if (context.config.dtype == trace::DType::kFloat16) value = master.to(at::kHalf);
  context.taps.perturb_parameter(name, value);
  return value.to(at::kFloat);
}

}  // namespace

bool Parameter::norm_weight() const { return name.ends_with("layernorm.weight"); }

Parameter& Parameters::add(RankContext& context, const ParameterRequest& request) {
  const at::NoGradGuard no_grad;
  const at::Tensor logical = draw_logical(context.config, request);
  enlarge_row(context, request.name, logical);
  Parameter& parameter = list_.emplace_back();
  parameter.name = released_name(context.config, context.fault, request.name);
  parameter.layout = request.layout;
  parameter.sequence_parallel = request.sequence_parallel && context.sequence_parallel();
  parameter.decays = request.layout.logical_shape.size() > 1;
  parameter.master = perturbed(context, request.name, slice(context, request.layout, logical));
  parameter.value = rounded(parameter.master, context.config.dtype).clone();
  parameter.value.set_requires_grad(true);
  parameter.exp_avg = at::zeros_like(parameter.master);
  parameter.exp_avg_sq = at::zeros_like(parameter.master);
  parameter.main_grad = at::zeros_like(parameter.master);
  for (const at::Tensor& kept :
       {parameter.value, parameter.master, parameter.exp_avg, parameter.exp_avg_sq}) {
    context.taps.keep(kept);
  }
  return parameter;
}

std::vector<Parameter*> Parameters::reversed() {
  std::vector<Parameter*> result;
  for (Parameter& parameter : list_) {
    if (!parameter.frozen) result.push_back(&parameter);
  }
  std::reverse(result.begin(), result.end());
  return result;
}

hooks::TapPoint parameter_point(RankContext& context, const Parameter& parameter,
                                trace::Phase phase, const std::string& role,
                                const PartialOver& partial) {
  hooks::TapPoint point;
  point.site = parameter.name;
  point.phase = phase;
  point.role = role;
  point.placement = context.placements.parameter(parameter.layout, partial);
  return point;
}

void tap_parameters(RankContext& context, Parameters& parameters) {
  const at::NoGradGuard no_grad;
  for (Parameter& parameter : parameters.in_model_order()) {
    hooks::TapPoint point = parameter_point(context, parameter, trace::Phase::kForward, "param");
    point.rounded_to = context.config.dtype;
    const at::Tensor value = parameter.value.detach();
    const at::Tensor tapped = context.taps.tap(point, value);
    if (!tapped.is_same(value)) value.copy_(tapped);
  }
}

}  // namespace nanhunt::mini
