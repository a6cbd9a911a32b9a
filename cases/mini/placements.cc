// SPDX-License-Identifier: Apache-2.0
#include "cases/mini/placements.h"

#include <utility>

#include "cases/mini/sample_split.h"

namespace nanhunt::mini {
namespace {

using trace::MeshAxis;
using trace::PlacementKind;
using trace::Region;

trace::AxisPlacement partial_sum(MeshAxis axis) { return {axis, PlacementKind::kPartial}; }

// One box from the local origin.
Region box(std::vector<int64_t> logical_start, std::vector<int64_t> extent) {
  return {std::vector<int64_t>(extent.size(), 0), std::move(logical_start), std::move(extent)};
}

SharedPlacement share(trace::Placement placement) {
  return std::make_shared<const trace::Placement>(std::move(placement));
}

}  // namespace

Placements::Placements(const Config& config, int tp_rank, int dp_rank)
    : config_(config), tp_rank_(tp_rank), dp_rank_(dp_rank) {}

SharedPlacement Placements::batched(trace::Placement placement) {
  placement.mesh.push_back({MeshAxis::kDp, PlacementKind::kBatch});
  placement.mesh.push_back({MeshAxis::kMicrobatch, PlacementKind::kBatch});
  return share(std::move(placement));
}

SharedPlacement Placements::activation(const ActivationLayout& layout, int32_t microbatch) {
  SharedPlacement& known = activations_[{layout, microbatch}];
  if (known) return known;
  const int64_t samples = samples_per_microbatch(config_);
  const int64_t tokens = config_.sequence / (layout.tokens_sharded ? config_.tp : 1);
  const int64_t channels = layout.channels / (layout.channels_sharded ? config_.tp : 1);

  trace::Placement placement;
  placement.axes = {"sample", "token"};
  placement.logical_shape = {config_.global_batch, config_.sequence};
  placement.to_logical =
      layout.batch_first ? std::vector<int32_t>{0, 1} : std::vector<int32_t>{1, 0};
  Region region = box(
      {first_sample(config_, dp_rank_, microbatch), layout.tokens_sharded ? tp_rank_ * tokens : 0},
      {samples, tokens});
  if (layout.channels > 0) {
    placement.axes.push_back(layout.channel_axis);
    placement.logical_shape.push_back(layout.channels);
    placement.to_logical.push_back(2);
    region.local_start.push_back(0);
    region.logical_start.push_back(layout.channels_sharded ? tp_rank_ * channels : 0);
    region.extent.push_back(channels);
  }
  placement.regions = {region};
  if (layout.partial) {
    placement.mesh.push_back({MeshAxis::kTp, PlacementKind::kPartial, layout.partial_op});
  } else if (layout.channels_sharded || layout.tokens_sharded) {
    placement.mesh.push_back({MeshAxis::kTp, PlacementKind::kShard});
  } else {
    placement.mesh.push_back({MeshAxis::kTp, PlacementKind::kReplicated});
  }
  return known = batched(std::move(placement));
}

SharedPlacement Placements::attention_mask(int32_t microbatch) {
  SharedPlacement& known = masks_[microbatch];
  if (known) return known;
  const int64_t samples = samples_per_microbatch(config_);
  trace::Placement placement;
  placement.axes = {"sample", "query", "key"};
  placement.logical_shape = {config_.global_batch, config_.sequence, config_.sequence};
  placement.to_logical = {0, 1, 2};
  placement.regions = {box({first_sample(config_, dp_rank_, microbatch), 0, 0},
                           {samples, config_.sequence, config_.sequence})};
  placement.mesh = {{MeshAxis::kTp, PlacementKind::kReplicated}};
  return known = batched(std::move(placement));
}

SharedPlacement Placements::parameter(const ParameterLayout& layout, const PartialOver& partial) {
  SharedPlacement& known = parameters_[{layout, partial}];
  if (known) return known;
  trace::Placement placement;
  placement.axes = layout.axes;
  placement.logical_shape = layout.logical_shape;
  std::vector<int64_t> start(layout.logical_shape.size(), 0), extent = layout.logical_shape;
  for (size_t d = 0; d < layout.logical_shape.size(); ++d) {
    placement.to_logical.push_back(static_cast<int32_t>(d));
  }
  PlacementKind over_tp = partial.tp ? PlacementKind::kPartial : PlacementKind::kReplicated;
  if (layout.sharded_dim >= 0) {
    extent[layout.sharded_dim] /= config_.tp;
    start[layout.sharded_dim] = tp_rank_ * extent[layout.sharded_dim];
    over_tp = PlacementKind::kShard;
  }
  placement.regions = {box(std::move(start), std::move(extent))};
  placement.mesh = {{MeshAxis::kTp, over_tp}};
  placement.mesh.push_back(partial.dp
                               ? partial_sum(MeshAxis::kDp)
                               : trace::AxisPlacement{MeshAxis::kDp, PlacementKind::kReplicated});
  if (partial.microbatch) placement.mesh.push_back(partial_sum(MeshAxis::kMicrobatch));
  return known = share(std::move(placement));
}

SharedPlacement Placements::scalar(const PartialOver& partial) { return parameter({}, partial); }

}  // namespace nanhunt::mini
