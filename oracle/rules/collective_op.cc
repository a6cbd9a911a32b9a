// SPDX-License-Identifier: Apache-2.0
// collective_op: a reduction that ends a partial sum does with the ranks' values what the placement
// of its operands names: adds them up, or takes their maximum. Exact, from the log and the
// placements alone: such a call is carried out faithfully, so that its copies agree and its result
// is what was asked of its operands.
#include "oracle/rules/rule_tools.h"
#include "oracle/rules/rules.h"

namespace nanhunt::oracle {
namespace {

// A mesh axis of several ranks along which the operand is partial by another op and the result no
// longer is partial.
std::optional<trace::AxisPlacement> other_op(const trace::Record& before,
                                             const trace::Record& after, trace::ReduceOp op,
                                             const Mesh& mesh) {
  for (const trace::AxisPlacement& along : before.placement->mesh) {
    if (along.axis == trace::MeshAxis::kMicrobatch || mesh.size(along.axis) <= 1) continue;
    if (along.kind != trace::PlacementKind::kPartial || along.op == op) continue;
    if (trace::on_axis(*after.placement, along.axis).kind != trace::PlacementKind::kPartial)
      return along;
  }
  return std::nullopt;
}

std::vector<Finding> check(const RuleInput& input) {
  const Mesh mesh(input.facts);
  std::vector<Finding> findings;
  for (const auto& entry : input.step.collectives) {
    if (!entry.is_reduction()) continue;
    for (size_t k = 0; k < entry.outputs.size(); ++k) {
      const auto* before = operand(input.step, entry, k);
      const auto* after = result(input.step, entry, k);
      if (!is_placed(before) || !is_placed(after)) continue;
      const auto along = other_op(*before, *after, entry.reduce, mesh);
      if (!along) continue;
      Finding finding = finding_about(*after, "collective_op", Severity::kProven);
      finding.decider = Decider::kRecomputation;
      finding.measured = 1;
      finding.allowed = 0;
      finding.unit = "other operations";
      finding.evidence = entry.op + " by " + std::string(trace::name_of(entry.reduce)) + "; over " +
                         std::string(trace::name_of(along->axis)) +
                         " the placement of its operand names " +
                         std::string(trace::name_of(along->op));
      findings.push_back(std::move(finding));
    }
  }
  return findings;
}

}  // namespace

Rule collective_op() {
  return {"collective_op", Severity::kProven, trace::Level::kStats,
          "a reduction does what the placement of its operands names", check};
}

}  // namespace nanhunt::oracle
