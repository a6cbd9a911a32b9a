// SPDX-License-Identifier: Apache-2.0
#include "oracle/mesh.h"

#include <algorithm>

namespace nanhunt::oracle {

using trace::MeshAxis;

Mesh::Mesh(const std::vector<trace::RunFacts>& facts) {
  for (const auto& rank : facts) {
    by_rank_[rank.rank] = &rank;
    size_ = rank.mesh_size;
  }
}

int32_t Mesh::size(MeshAxis axis) const {
  return std::max(1, size_[static_cast<size_t>(axis)]);
}

int32_t Mesh::coordinate(int32_t rank, MeshAxis axis) const {
  const auto found = by_rank_.find(rank);
  return found == by_rank_.end() ? -1 : found->second->mesh_coordinate[static_cast<size_t>(axis)];
}

std::vector<int32_t> Mesh::group(int32_t rank, const std::vector<MeshAxis>& axes) const {
  const auto self = by_rank_.find(rank);
  std::vector<int32_t> ranks;
  if (self == by_rank_.end()) return ranks;
  for (const auto& [other, facts] : by_rank_) {
    bool same = true;
    for (int i = 0; i < trace::kMeshAxes; ++i) {
      const auto axis = static_cast<MeshAxis>(i);
      if (axis == MeshAxis::kMicrobatch || std::ranges::find(axes, axis) != axes.end()) continue;
      same = same && facts->mesh_coordinate[static_cast<size_t>(i)] ==
                         self->second->mesh_coordinate[static_cast<size_t>(i)];
    }
    if (same) ranks.push_back(other);
  }
  return ranks;
}

std::vector<MeshAxis> axes_of_kind(const trace::Placement& placement, trace::PlacementKind kind,
                                   const Mesh& mesh) {
  std::vector<MeshAxis> axes;
  for (int i = 0; i < trace::kMeshAxes; ++i) {
    const auto axis = static_cast<MeshAxis>(i);
    if (axis == MeshAxis::kMicrobatch || mesh.size(axis) <= 1) continue;
    if (trace::on_axis(placement, axis).kind == kind) axes.push_back(axis);
  }
  return axes;
}

std::string names_of(const std::vector<MeshAxis>& axes) {
  std::string text;
  for (const auto axis : axes)
    text += (text.empty() ? "" : " ") + std::string(trace::name_of(axis));
  return text;
}

std::string list_of(const std::vector<int32_t>& ranks) {
  std::string text;
  for (const auto rank : ranks) text += (text.empty() ? "" : " ") + std::to_string(rank);
  return text;
}

}  // namespace nanhunt::oracle
