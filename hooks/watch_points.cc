// SPDX-License-Identifier: Apache-2.0
#include "hooks/watch_points.h"

#include <algorithm>

#include "hooks/flow_map.h"
#include "hooks/tensor_view.h"

namespace nanhunt::hooks {
namespace {

using trace::MeshAxis;
using trace::Phase;
using trace::PlacementKind;

bool same_memory(const at::Tensor& a, const at::Tensor& b) {
  return a.defined() && b.defined() && a.has_storage() && a.is_alias_of(b) &&
         memory_extent(a) == memory_extent(b);
}

std::vector<std::string> axis_names(int64_t dimensions) {
  std::vector<std::string> names;
  for (int64_t d = 0; d < dimensions; ++d) names.push_back("dim" + std::to_string(d));
  return names;
}

TapPoint point_of(std::string site, Phase phase, std::string role, const at::Tensor& tensor) {
  TapPoint point;
  point.site = std::move(site);
  point.phase = phase;
  point.role = std::move(role);
  if (tensor.defined()) {
    point.compute = dtype_of(tensor.scalar_type()).value_or(trace::DType::kFloat32);
  }
  return point;
}

}  // namespace

WatchPoints::WatchPoints(std::vector<NamedParameter> parameters, int32_t world_size)
    : parameters_(std::move(parameters)), world_size_(world_size) {}

bool WatchPoints::is_parameter(const at::Tensor& tensor) const {
  return std::any_of(parameters_.begin(), parameters_.end(), [&](const NamedParameter& parameter) {
    return parameter.tensor.is_alias_of(tensor);
  });
}

std::shared_ptr<const trace::Placement> WatchPoints::over_ranks(
    const at::Tensor& tensor, trace::AxisPlacement along_ranks) const {
  trace::Placement placement =
      trace::whole(axis_names(tensor.dim()), {tensor.sizes().begin(), tensor.sizes().end()});
  if (world_size_ > 1) placement.mesh.push_back(along_ranks);
  return std::make_shared<const trace::Placement>(std::move(placement));
}

TapPoint WatchPoints::parameter(const NamedParameter& parameter, Phase phase,
                                const std::string& role) const {
  TapPoint point = point_of(parameter.name, phase, role, parameter.tensor);
  point.placement =
      over_ranks(parameter.tensor, {.axis = MeshAxis::kDp, .kind = PlacementKind::kReplicated});
  return point;
}

TapPoint WatchPoints::local_gradient(const NamedParameter& parameter) const {
  TapPoint point = point_of(parameter.name, Phase::kBackward, "grad", parameter.tensor);
  if (world_size_ == 1) point.placement = over_ranks(parameter.tensor, {});
  return point;
}

TapPoint WatchPoints::activation(const std::string& site, Phase phase, const std::string& role,
                                 const at::Tensor& tensor, std::optional<Samples> samples) const {
  TapPoint point = point_of(site, phase, role, tensor);
  if (!samples || !tensor.defined() || tensor.dim() == 0) return point;
  std::vector<int64_t> logical(tensor.sizes().begin(), tensor.sizes().end());
  logical[0] = samples->total;
  auto names = axis_names(tensor.dim());
  names[0] = "sample";
  trace::Placement placement = trace::whole(names, logical);
  trace::Region region;
  region.local_start.assign(logical.size(), 0);
  region.logical_start.assign(logical.size(), 0);
  region.logical_start[0] = samples->first;
  region.extent.assign(tensor.sizes().begin(), tensor.sizes().end());
  placement.regions = {region};
  placement.mesh = {{.axis = MeshAxis::kDp, .kind = PlacementKind::kBatch}};
  // Samples that do not fit the tensor tell nothing about it.
  if (!trace::placement_fault(placement, region.extent).empty()) return point;
  point.placement = std::make_shared<const trace::Placement>(std::move(placement));
  return point;
}

TapPoint WatchPoints::collective(const C10dCall& call, Phase phase, const at::Tensor& tensor,
                                 size_t index, int64_t unnamed_count) const {
  TapPoint point = point_of("collectives." + call.collective.op + "." +
                                std::to_string(unnamed_count) + "." + std::to_string(index),
                            phase, phase == Phase::kPreCollective ? "operand" : "result", tensor);
  for (const NamedParameter& parameter : parameters_) {
    const bool is_gradient = same_memory(parameter.tensor.grad(), tensor);
    if (!is_gradient && !same_memory(parameter.tensor, tensor)) continue;
    point.site = parameter.name;
    point.role = is_gradient ? "grad" : "param";
    break;
  }
  point.op = call.collective.op;
  const bool over_all = call.group_size == world_size_;
  if (over_all && call.collective.op == "all_reduce") {
    const bool before = phase == Phase::kPreCollective;
    point.placement =
        over_ranks(tensor, {.axis = MeshAxis::kDp,
                            .kind = before ? PlacementKind::kPartial : PlacementKind::kReplicated,
                            .op = call.collective.reduce,
                            .divisor = before ? call.collective.divisor : 1.0});
  } else if (over_all && call.collective.op == "broadcast" && phase == Phase::kPostCollective) {
    point.placement =
        over_ranks(tensor, {.axis = MeshAxis::kDp, .kind = PlacementKind::kReplicated});
  }
  return point;
}

}  // namespace nanhunt::hooks
