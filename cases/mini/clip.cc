// SPDX-License-Identifier: Apache-2.0
#include "cases/mini/clip.h"

#include <ATen/ops/scalar_tensor.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "cases/mini/collectives.h"

namespace nanhunt::mini {
namespace {

bool counted_here(const RankContext& context, const Parameter& parameter) {
  if (parameter.layout.sharded_dim >= 0 || context.mesh.tp_rank == 0) return true;
  return context.is(FaultName::kNormCountsReplicas);
}

}  // namespace

hooks::TapPoint optimizer_point(RankContext& context, trace::Phase phase, const std::string& role,
                                const std::string& attributes) {
  hooks::TapPoint point;
  point.site = "optimizer";
  point.phase = phase;
  point.role = role;
  point.placement = context.placements.scalar();
  point.attributes = attributes;
  return point;
}

TappedScalar global_norm(RankContext& context, const std::vector<Parameter*>& parameters,
                         const std::vector<at::Tensor>& gradients) {
  double squares = 0;
  std::vector<int64_t> links;
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!counted_here(context, *parameters[i])) continue;
    squares += gradients[i].square().sum(at::kDouble).item<double>();
    const std::vector<int64_t> carried = context.taps.carried(gradients[i]);
    links.insert(links.end(), carried.begin(), carried.end());
  }
  if (context.config.tp > 1) {
    const at::Tensor total =
        all_reduce(context, context.mesh.tp,
                   {"optimizer", "grad_norm_squared", context.placements.scalar({.tp = true}),
                    context.placements.scalar()},
                   at::scalar_tensor(squares, at::kFloat));
    squares = total.item<double>();
    const std::vector<int64_t> carried = context.taps.carried(total);
    links.insert(links.end(), carried.begin(), carried.end());
  }
  const double norm = std::sqrt(squares);
  hooks::TapPoint point = optimizer_point(context, trace::Phase::kClipped, "grad_norm");
  point.op = "grad_norm";
  return {norm, context.taps.scalar(point, norm, links)};
}

TappedScalar clip_factor(RankContext& context, const TappedScalar& norm) {
  double factor = context.config.clip / (norm.value + 1e-6);
  if (factor > 1) factor = 1;
  hooks::TapPoint point = optimizer_point(context, trace::Phase::kClipped, "clip_factor",
                                          nlohmann::json{{"max_norm", context.config.clip}}.dump());
  point.op = "clip_factor";
  return {factor, context.taps.scalar(point, factor, {norm.record})};
}

}  // namespace nanhunt::mini
