// SPDX-License-Identifier: Apache-2.0
#include "hooks/torch_ops/collective_names.h"

#include <algorithm>
#include <set>

#include "hooks/flow_map.h"

namespace nanhunt::hooks {
namespace {

using trace::PlacementKind;

// The placement that an all-reduce along one mesh axis means: partial results before, equal copies
// after. Of the other ops only the transport is checked, which needs no placement.
std::shared_ptr<const trace::Placement> reduced_along(const std::string& axis, const C10dCall& call,
                                                      bool before, const at::Tensor& tensor) {
  const auto known = trace::mesh_axis_from_name(axis);
  if (!known || call.collective.op != "all_reduce") return nullptr;
  std::vector<std::string> names;
  for (int64_t d = 0; d < tensor.dim(); ++d) names.push_back("dim" + std::to_string(d));
  trace::Placement placement = trace::whole(names, {tensor.sizes().begin(), tensor.sizes().end()});
  trace::AxisPlacement along{.axis = *known, .kind = PlacementKind::kReplicated};
  if (before) {
    along.kind = PlacementKind::kPartial;
    along.op = call.collective.reduce;
    along.divisor = call.collective.divisor;
  }
  placement.mesh.push_back(along);
  return std::make_shared<const trace::Placement>(std::move(placement));
}

}  // namespace

bool moves_floats(const C10dCall& call) {
  const auto& tensors = call.operands.empty() ? call.results : call.operands;
  return std::ranges::any_of(tensors,
                             [](const at::Tensor& tensor) { return tensor.is_floating_point(); });
}

void CollectiveNames::group(const std::string& name, const std::string& axis) {
  axes_[name] = axis;
}

void CollectiveNames::enter(const std::string& site) {
  modules_.push_back(site);
}

void CollectiveNames::leave() {
  if (!modules_.empty()) modules_.pop_back();
}

void CollectiveNames::gradient(const std::string& site, const at::Tensor& gradient) {
  gradients_.emplace_back(site, gradient);
}

void CollectiveNames::recorded(int64_t sequence, const TapPoint& point) {
  recorded_[sequence] = {point.site, point.role == "grad"};
}

std::string CollectiveNames::site_of(int64_t sequence) const {
  const auto known = recorded_.find(sequence);
  return known == recorded_.end() ? "" : known->second.site;
}

void CollectiveNames::next() {
  ++count_;
}

void CollectiveNames::end_step() {
  gradients_.clear();
  recorded_.clear();
  modules_.clear();
  count_ = 0;
}

std::string CollectiveNames::site(const C10dCall& call, const at::Tensor& tensor, size_t index,
                                  const std::vector<int64_t>& carried, bool& is_gradient) const {
  for (const auto& [name, gradient] : gradients_) {
    if (gradient.is_alias_of(tensor) && memory_extent(gradient) == memory_extent(tensor)) {
      is_gradient = true;
      return name;
    }
  }
  if (!modules_.empty() && !modules_.back().empty()) return modules_.back();
  std::set<std::string> parameters;
  std::string latest;
  for (auto sequence = carried.rbegin(); sequence != carried.rend(); ++sequence) {
    const auto known = recorded_.find(*sequence);
    if (known == recorded_.end()) continue;
    if (latest.empty()) latest = known->second.site;
    if (known->second.is_gradient) parameters.insert(known->second.site);
  }
  if (parameters.size() > 1) return "gradient_bucket." + std::to_string(count_);
  if (!latest.empty()) return latest;
  return "collectives." + call.collective.op + "." + std::to_string(count_) + "." +
         std::to_string(index);
}

TapPoint CollectiveNames::point(const C10dCall& call, trace::Phase phase, const at::Tensor& tensor,
                                size_t index, const std::vector<int64_t>& carried) const {
  const bool before = phase == trace::Phase::kPreCollective;
  bool is_gradient = false;
  TapPoint point;
  point.site = site(call, tensor, index, carried, is_gradient);
  point.phase = phase;
  point.role = is_gradient ? "grad" : before ? "operand" : "result";
  point.op = call.collective.op;
  const auto axis = axes_.find(call.group_name);
  if (axis != axes_.end() && call.group_size == world_size_)
    point.placement = reduced_along(axis->second, call, before, tensor);
  return point;
}

}  // namespace nanhunt::hooks
