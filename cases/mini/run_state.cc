// SPDX-License-Identifier: Apache-2.0
#include "cases/mini/run_state.h"

#include <ATen/ops/from_blob.h>
#include <ATen/ops/scalar_tensor.h>

#include "cases/mini/sample_split.h"

namespace nanhunt::mini {
namespace {

trace::Placement samples_placement(const RankContext& context, const Batch& batch) {
  const Config& config = context.config;
  const int64_t samples = samples_per_microbatch(config) * config.microbatches;
  trace::Placement placement;
  placement.axes = {"sample", "token"};
  placement.logical_shape = {batch.samples, batch.sequence};
  placement.to_logical = {0, 1};
  placement.mesh = {{trace::MeshAxis::kTp, trace::PlacementKind::kReplicated},
                    {trace::MeshAxis::kDp, trace::PlacementKind::kShard}};
  placement.regions = {
      {{0, 0}, {first_sample(config, context.mesh.dp_rank, 0), 0}, {samples, batch.sequence}}};
  return placement;
}

template <class T>
at::Tensor rows_of(const trace::Placement& placement, const std::vector<T>& values,
                   at::ScalarType type) {
  const trace::Region& region = placement.regions.front();
  const int64_t first = region.logical_start[0] * region.extent[1];
  return at::from_blob(const_cast<T*>(values.data()) + first, region.extent, type).clone();
}

}  // namespace

std::vector<StateTensor> parameter_state(RankContext& context, Model& model) {
  std::vector<StateTensor> state;
  for (Parameter& parameter : model.parameters.in_model_order()) {
    const SharedPlacement placement = context.placements.parameter(parameter.layout);
    const auto add = [&](const char* role, const at::Tensor& tensor) {
      state.push_back({parameter.name, role, placement, tensor});
    };
    add("param", parameter.value.detach());
    if (context.config.masters) add("master", parameter.master);
    add("exp_avg", parameter.exp_avg);
    add("exp_avg_sq", parameter.exp_avg_sq);
  }
  return state;
}

std::vector<StateTensor> batch_state(RankContext& context, const Batch& batch) {
  const auto placement =
      std::make_shared<const trace::Placement>(samples_placement(context, batch));
  return {{"data.batch", "tokens", placement, rows_of(*placement, batch.tokens, at::kLong)},
          {"data.batch", "labels", placement, rows_of(*placement, batch.labels, at::kLong)},
          {"data.batch", "loss_mask", placement, rows_of(*placement, batch.loss_mask, at::kFloat)}};
}

std::vector<StateTensor> shared_state(RankContext& context) {
  const Config& config = context.config;
  const SharedPlacement placement = context.placements.scalar();
  std::vector<StateTensor> state;
  const auto count = [&](const char* site, const char* role, int64_t value) {
    state.push_back({site, role, placement, at::scalar_tensor(value, at::kLong)});
  };
  const auto number = [&](const char* role, double value) {
    state.push_back({"optimizer.groups.0", role, placement, at::scalar_tensor(value, at::kDouble)});
  };
  count("optimizer", "step", context.optimizer_step());
  number("lr", config.learning_rate);
  number("beta1", config.beta1);
  number("beta2", config.beta2);
  number("eps", config.adam_eps);
  number("weight_decay", config.weight_decay);
  number("max_norm", config.clip);
  count("rng.counter", "seed", static_cast<int64_t>(config.seed));
  count("data", "consumed_samples", context.step * config.global_batch);
  return state;
}

}  // namespace nanhunt::mini
