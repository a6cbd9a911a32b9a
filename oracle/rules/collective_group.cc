// SPDX-License-Identifier: Apache-2.0
// collective_group: a collective runs over exactly the ranks that its operands' and results'
// placements name. A reduction ends the partial sum along some mesh axes, a gather ends a sharding;
// the members must be the ranks that differ in those axes only. Source: the group argument left out
// in a reduce-scatter, EleutherAI/gpt-neox pull request 1281.
#include <algorithm>

#include "oracle/rules/rule_tools.h"
#include "oracle/rules/rules.h"

namespace nanhunt::oracle {
namespace {

using trace::PlacementKind;

bool ends_at(PlacementKind kind, const std::string& op) {
  if (op == "all_reduce" || op == "reduce_scatter") return kind == PlacementKind::kPartial;
  return op == "all_gather" && (kind == PlacementKind::kShard || kind == PlacementKind::kFlat);
}

// Mesh axes along which the operand is what the collective ends and the result no longer is.
std::vector<trace::MeshAxis> axes_ended(const trace::Record& before, const trace::Record& after,
                                        const std::string& op, const Mesh& mesh) {
  std::vector<trace::MeshAxis> axes;
  for (int i = 0; i < trace::kMeshAxes; ++i) {
    const auto axis = static_cast<trace::MeshAxis>(i);
    if (axis == trace::MeshAxis::kMicrobatch || mesh.size(axis) <= 1) continue;
    const auto kind = trace::on_axis(*before.placement, axis).kind;
    if (ends_at(kind, op) && trace::on_axis(*after.placement, axis).kind != kind)
      axes.push_back(axis);
  }
  return axes;
}

std::vector<Finding> check(const RuleInput& input) {
  const Mesh mesh(input.facts);
  std::vector<Finding> findings;
  for (const auto& entry : input.step.collectives) {
    for (size_t k = 0; k < entry.outputs.size(); ++k) {
      const auto* before = operand(input.step, entry, k);
      const auto* after = result(input.step, entry, k);
      if (!is_placed(before) || !is_placed(after)) continue;
      const auto axes = axes_ended(*before, *after, entry.op, mesh);
      if (axes.empty()) continue;
      auto group = entry.group;
      // Where a rank that wrote nothing sits is not known.
      std::erase_if(group, [&](int32_t rank) { return mesh.coordinate(rank, axes.front()) < 0; });
      std::ranges::sort(group);
      const auto expected = mesh.group(entry.rank, axes);
      if (group == expected) continue;
      Finding finding = finding_about(*after, "collective_group", Severity::kProven);
      finding.decider = Decider::kRecomputation;
      finding.measured = static_cast<double>(group.size());
      finding.allowed = static_cast<double>(expected.size());
      finding.unit = "ranks";
      finding.evidence = entry.op + " over ranks " + list_of(group) + "; the placement names " +
                         names_of(axes) + ": ranks " + list_of(expected);
      findings.push_back(std::move(finding));
    }
  }
  return findings;
}

}  // namespace

Rule collective_group() {
  return {"collective_group", Severity::kProven, trace::Level::kStats,
          "a collective runs over the ranks that the placements name", check};
}

}  // namespace nanhunt::oracle
