// SPDX-License-Identifier: Apache-2.0
#include "cases/mini/finalize_gradients.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>

#include "cases/mini/clip.h"
#include "cases/mini/collectives.h"

namespace nanhunt::mini {
namespace {

// One collective for all of them, as Megatron coalesces them.
void sum_sequence_parallel(RankContext& context, const std::vector<Parameter*>& parameters) {
  std::vector<Parameter*> summed;
  for (Parameter* parameter : parameters) {
    if (!parameter->sequence_parallel) continue;
    if (context.is(FaultName::kNormGradNotSummed) && parameter->norm_weight()) continue;
    summed.push_back(parameter);
  }
  if (summed.empty()) return;
  const ReduceOptions options = context.reduce_options(trace::DType::kFloat32);
  std::vector<Exchange> exchanges;
  std::vector<at::Tensor> operands, flattened;
  for (const Parameter* parameter : summed) {
    exchanges.push_back({parameter->name, "grad",
                         context.placements.parameter(parameter->layout, {.tp = true}),
                         context.placements.parameter(parameter->layout)});
    operands.push_back(parameter->main_grad);
    flattened.push_back(parameter->main_grad.view({-1}));
  }
  TappedCollective collective(context, context.mesh.tp, "all_reduce", options);
  collective.issue(exchanges, operands);
  const at::Tensor flat = at::cat(flattened);
  context.mesh.tp.all_reduce(elements(flat), options);
  int64_t offset = 0;
  for (const at::Tensor& operand : operands) {
    operand.view({-1}).copy_(flat.narrow(0, offset, operand.numel()));
    offset += operand.numel();
  }
  const std::vector<at::Tensor> results = collective.complete(operands);
  for (size_t i = 0; i < summed.size(); ++i) summed[i]->main_grad = results[i];
}

at::Tensor clipped(RankContext& context, const at::Tensor& gradient, double factor) {
  if (context.is(FaultName::kClipSkippedOnRank) && context.mesh.rank == context.fault.rank) {
    return gradient.clone();
  }
  return gradient * factor;
}

}  // namespace

OptimizerGradients finalize_gradients(RankContext& context, Parameters& parameters) {
  const at::NoGradGuard no_grad;
  OptimizerGradients result;
  result.parameters = parameters.reversed();
  if (context.sequence_parallel()) sum_sequence_parallel(context, result.parameters);

  context.taps.scalar(optimizer_point(context, trace::Phase::kUnscaled, "loss_scale"), 1.0);
  std::vector<at::Tensor> unscaled;
  for (Parameter* parameter : result.parameters) {
    const hooks::TapPoint point =
        parameter_point(context, *parameter, trace::Phase::kUnscaled, "grad");
    unscaled.push_back(
        context.taps.tap(point, parameter->main_grad, context.taps.carried(parameter->main_grad)));
  }
  const TappedScalar norm = global_norm(context, result.parameters, unscaled);
  const TappedScalar factor = clip_factor(context, norm);
  for (size_t i = 0; i < unscaled.size(); ++i) {
    std::vector<int64_t> links = context.taps.carried(unscaled[i]);
    links.push_back(factor.record);
    hooks::TapPoint point =
        parameter_point(context, *result.parameters[i], trace::Phase::kClipped, "grad");
    point.op = "clip";
    result.gradients.push_back(
        context.taps.tap(point, clipped(context, unscaled[i], factor.value), links));
  }
  result.norm = norm.value;
  return result;
}

}  // namespace nanhunt::mini
