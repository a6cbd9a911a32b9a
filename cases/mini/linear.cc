// SPDX-License-Identifier: Apache-2.0
#include "cases/mini/linear.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/mm.h>

#include <nlohmann/json.hpp>

#include "cases/mini/autograd.h"
#include "cases/mini/collectives.h"
#include "cases/mini/output_faults.h"
#include "cases/mini/quantise.h"
#include "cases/mini/sites.h"

namespace nanhunt::mini {
namespace {

at::Tensor rows_of(const at::Tensor& tensor) {
  return tensor.reshape({-1, tensor.size(-1)});
}

// The two GEMM operands as the hardware sees them.
struct Operands {
  at::Tensor input, weight;  // backward
  at::Tensor forward_input;  // forward
};

std::string scale_attribute(double scale) {
  return nlohmann::json{{"scale", scale}}.dump();
}

// Shows an FP8 operand to the taps; the values that go on.
Quantised tapped(RankContext& context, hooks::TapPoint point, trace::DType dtype,
                 Quantised quantised) {
  point.rounded_to = dtype;
  point.attributes = scale_attribute(quantised.scale);
  quantised.codes = context.taps.tap(point, quantised.codes);
  return quantised;
}

Operands fp8_operands(RankContext& context, const Linear& linear, const Site& input_site,
                      const at::Tensor& input) {
  const Quantised x =
      tapped(context, activation_point(context, input_site, trace::Phase::kForward, "input"),
             trace::DType::kFloat8E4M3, quantise(input.detach(), trace::DType::kFloat8E4M3));
  hooks::TapPoint weight_point =
      activation_point(context, input_site, trace::Phase::kForward, "weight");
  weight_point.placement = context.placements.parameter(linear.weight->layout);
  const Quantised w = tapped(context, weight_point, trace::DType::kFloat8E4M3,
                             quantise(linear.weight->value.detach(), trace::DType::kFloat8E4M3));
  double forward_scale = x.scale;
  if (context.is_in_layer(FaultName::kFp8DequantiseScale, linear.layer) &&
      context.fault.element % 4 == linear.position) {
    forward_scale *= 0.75;
  }
  return {x.dequantised(x.scale), w.dequantised(w.scale), x.dequantised(forward_scale)};
}

// input * weight^T, FP32 accumulation. The input's gradient is rounded, the weight's is not
// (parameters round it when they take it).
at::Tensor product(RankContext& context, const Linear& linear, const Site& input_site,
                   const Site& output_site, const at::Tensor& input) {
  const bool fp8 = context.config.fp8 && linear.layer >= 0;
  const at::Tensor& weight = linear.weight->value;
  Operands operands;
  const auto forward = [&] {
    operands = fp8 ? fp8_operands(context, linear, input_site, input)
                   : Operands{input.detach(), weight.detach(), input.detach()};
    std::vector<int64_t> shape = input.sizes().vec();
    shape.back() = weight.size(0);
    return at::mm(rows_of(operands.forward_input), operands.weight.t()).view(shape);
  };
  // Evaluated here, since the closure keeps the operands.
  const at::Tensor output = [&] {
    const at::NoGradGuard no_grad;
    return forward();
  }();
  const hooks::TapPoint point =
      activation_point(context, output_site, trace::Phase::kBackward, "grad_operand");
  return with_backward(
      {input, weight}, [&] { return output; },
      [&context, operands, fp8, point](const at::Tensor& gradient) -> std::vector<at::Tensor> {
        at::Tensor rows = rows_of(gradient);
        if (fp8) {
          const Quantised g = tapped(context, point, trace::DType::kFloat8E5M2,
                                     quantise(gradient, trace::DType::kFloat8E5M2));
          rows = rows_of(g.dequantised(g.scale));
        }
        const at::Tensor grad_input = at::mm(rows, operands.weight).view(operands.input.sizes());
        const at::Tensor grad_weight = at::mm(rows.t(), rows_of(operands.input));
        return {rounded(grad_input, context.config.dtype), grad_weight};
      });
}

Site input_site(const Linear& linear, bool row, bool tokens_sharded) {
  return {linear.site,
          "linear",
          {.channels = linear.inputs, .channels_sharded = row, .tokens_sharded = tokens_sharded}};
}

// Input of a column-parallel GEMM: whole tokens on each rank.
at::Tensor column_input(RankContext& context, const Linear& linear, const at::Tensor& input) {
  const Site site = input_site(linear, false, context.sequence_parallel());
  const at::Tensor seen = site_gradient(context, site, "grad_input", input);
  const TensorParallelPlaces places{linear.site, {.channels = linear.inputs}};
  return context.sequence_parallel() ? gather_from_sequence_parallel(context, places, seen)
                                     : copy_to_tensor_parallel(context, places, seen);
}

}  // namespace

at::Tensor column_parallel(RankContext& context, const Linear& linear, const at::Tensor& input) {
  const at::Tensor whole = column_input(context, linear, input);
  const Site site{linear.site,
                  "linear",
                  {.channels = linear.outputs, .channels_sharded = context.config.tp > 1}};
  at::Tensor output = product(context, linear, input_site(linear, false, false), site, whole);
  if (linear.bias != nullptr) output = output + linear.bias->value;
  if (linear.position == 2) output = with_fc1_faults(context, linear.layer, output);
  return site_output(context, site, output);
}

at::Tensor row_parallel(RankContext& context, const Linear& linear, const at::Tensor& input) {
  const bool sharded = context.config.tp > 1;
  const bool proj = linear.position == 1;
  const Site input_here = input_site(linear, sharded, false);
  const at::Tensor seen = site_gradient(context, input_here, "grad_input", input);
  const Site whole{linear.site, "linear", {.channels = linear.outputs}};
  at::Tensor output = product(context, linear, input_here, whole, seen);
  // On every rank, and none after the reduction.
  const bool bias_before =
      proj && context.is_in_layer(FaultName::kRowBiasOnEveryRank, linear.layer);
  if (bias_before) output = output + linear.bias->value;
  output = site_gradient(context, whole, "grad_output", output);
  if (sharded) {
    const TensorParallelPlaces places{linear.site, whole.layout};
    const at::Tensor partial = with_backward(
        {output}, [&] { return rounded(output.detach(), context.config.dtype); },
        [](const at::Tensor& gradient) -> std::vector<at::Tensor> { return {gradient}; });
    const int64_t layer = proj ? linear.layer : -1;
    output = context.sequence_parallel()
                 ? reduce_scatter_to_sequence_parallel(context, places, partial, layer)
                 : reduce_from_tensor_parallel(context, places, partial, layer);
  }
  if (!bias_before) output = output + linear.bias->value;
  Site site = whole;
  site.layout.tokens_sharded = context.sequence_parallel();
  if (proj) output = with_proj_faults(context, linear.layer, output);
  return site_output_only(context, site, output);
}

at::Tensor output_layer(RankContext& context, const Linear& linear, const at::Tensor& input) {
  at::Tensor whole = column_input(context, linear, input);
  if (context.config.batch_first) whole = whole.transpose(0, 1);
  const Site site{linear.site,
                  "linear",
                  {.channel_axis = "vocabulary",
                   .channels = linear.outputs,
                   .channels_sharded = context.config.tp > 1,
                   .batch_first = context.config.batch_first}};
  return site_output(context, site,
                     product(context, linear, input_site(linear, false, false), site, whole));
}

}  // namespace nanhunt::mini
