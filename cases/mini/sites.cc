// SPDX-License-Identifier: Apache-2.0
#include "cases/mini/sites.h"

#include "cases/mini/autograd.h"

namespace nanhunt::mini {
namespace {

Backward rounded_gradient(RankContext& context) {
  return [&context](const at::Tensor& gradient) -> std::vector<at::Tensor> {
    return {rounded(gradient, context.config.dtype)};
  };
}

Backward tapped_gradient(RankContext& context, const Site& site, const std::string& role) {
  const hooks::TapPoint point = activation_point(context, site, trace::Phase::kBackward, role);
  return [&context, point](const at::Tensor& gradient) -> std::vector<at::Tensor> {
    return {context.taps.tap(point, rounded(gradient, context.config.dtype))};
  };
}

at::Tensor tapped_output(RankContext& context, const Site& site, const at::Tensor& tensor) {
  const hooks::TapPoint point = activation_point(context, site, trace::Phase::kForward, "output");
  return context.taps.tap(point, rounded(tensor.detach(), context.config.dtype));
}

}  // namespace

hooks::TapPoint activation_point(RankContext& context, const Site& site, trace::Phase phase,
                                 const std::string& role) {
  hooks::TapPoint point;
  point.site = site.name;
  point.phase = phase;
  point.role = role;
  point.microbatch = context.microbatch;
  point.placement = context.placements.activation(site.layout, context.microbatch);
  point.rounded_to = context.config.dtype;
  point.op = site.op;
  point.attributes = site.attributes;
  return point;
}

at::Tensor site_output(RankContext& context, const Site& site, const at::Tensor& tensor) {
  return with_backward(
      {tensor}, [&] { return tapped_output(context, site, tensor); },
      tapped_gradient(context, site, "grad_output"));
}

at::Tensor site_output_only(RankContext& context, const Site& site, const at::Tensor& tensor) {
  return with_backward(
      {tensor}, [&] { return tapped_output(context, site, tensor); }, rounded_gradient(context));
}

at::Tensor site_gradient(RankContext& context, const Site& site, const std::string& role,
                         const at::Tensor& tensor) {
  return with_backward(
      {tensor}, [&] { return tensor.detach(); }, tapped_gradient(context, site, role));
}

}  // namespace nanhunt::mini
