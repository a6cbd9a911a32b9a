// SPDX-License-Identifier: Apache-2.0
// replicas_equal: what placements call copies (replicated or tied along a mesh axis) is equal to
// the bit. Copies that are NaN or Inf beside equal finite ones are named, else with a majority of
// at least 3 copies the others, else the whole group.
#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>

#include "oracle/rules/rule_tools.h"
#include "oracle/rules/rules.h"

namespace nanhunt::oracle {
namespace {

using trace::MeshAxis;
using trace::PlacementKind;

// Records that must be equal share: what, microbatch, place in the logical tensor, and their
// position on every axis along which they are not copies.
struct GroupKey {
  trace::What what;
  int32_t microbatch;
  std::vector<std::vector<int64_t>> starts;
  std::vector<int32_t> coordinates;

  auto operator<=>(const GroupKey&) const = default;
};

bool copies_along(const trace::Placement& placement, MeshAxis axis) {
  const auto kind = trace::on_axis(placement, axis).kind;
  return kind == PlacementKind::kReplicated || kind == PlacementKind::kTied;
}

GroupKey key_of(const trace::Record& record, const Mesh& mesh) {
  GroupKey key{record.what, record.where.microbatch, {}, {}};
  for (const auto& region : record.placement->regions) key.starts.push_back(region.logical_start);
  for (int i = 0; i < trace::kMeshAxes; ++i) {
    const auto axis = static_cast<MeshAxis>(i);
    if (axis == MeshAxis::kMicrobatch) continue;
    key.coordinates.push_back(
        copies_along(*record.placement, axis) ? -1 : mesh.coordinate(record.where.rank, axis));
  }
  return key;
}

// True when the two ranks differ in that axis and in no other.
bool neighbours(const Mesh& mesh, int32_t a, int32_t b, MeshAxis axis) {
  const auto group = mesh.group(a, {axis});
  return a != b && std::ranges::find(group, b) != group.end();
}

// The axes along which contents change; those between the members when every change is along
// several.
std::vector<MeshAxis> axes_between(const std::vector<const trace::Record*>& copies,
                                   const Mesh& mesh) {
  std::vector<MeshAxis> changing, between;
  for (int i = 0; i < trace::kMeshAxes; ++i) {
    const auto axis = static_cast<MeshAxis>(i);
    if (axis == MeshAxis::kMicrobatch) continue;
    bool changes = false, differs = false;
    for (const auto* a : copies) {
      for (const auto* b : copies) {
        const bool along = neighbours(mesh, a->where.rank, b->where.rank, axis);
        changes = changes || (along && a->raw_digest != b->raw_digest);
        differs =
            differs || mesh.coordinate(a->where.rank, axis) != mesh.coordinate(b->where.rank, axis);
      }
    }
    if (changes) changing.push_back(axis);
    if (differs) between.push_back(axis);
  }
  return changing.empty() ? between : changing;
}

using Copies = std::vector<const trace::Record*>;
using Classes = std::map<uint64_t, Copies>;  // by contents

struct Wrong {
  Copies copies;
  Decider decider = Decider::kNone;
};

// Those that hold NaN or Inf, when the others are finite and equal; else none.
Copies alone_not_finite(const Copies& copies) {
  Copies broken, finite;
  for (const auto* copy : copies)
    (trace::non_finite_elements(*copy) > 0 ? broken : finite).push_back(copy);
  const bool equal = std::ranges::all_of(finite, [&](const trace::Record* copy) {
    return copy->raw_digest == finite.front()->raw_digest;
  });
  return finite.empty() || !equal ? Copies{} : broken;
}

Wrong wrong_among(const Copies& copies, const Classes& classes) {
  if (auto broken = alone_not_finite(copies); !broken.empty())
    return {std::move(broken), Decider::kItself};
  const auto largest =
      std::ranges::max_element(classes, {}, [](const auto& entry) { return entry.second.size(); });
  if (copies.size() < 3 || 2 * largest->second.size() <= copies.size())
    return {copies, Decider::kNone};
  Wrong wrong{{}, Decider::kMajority};
  std::ranges::copy_if(copies, std::back_inserter(wrong.copies), [&](const trace::Record* copy) {
    return copy->raw_digest != largest->first;
  });
  return wrong;
}

Finding finding_of(const Copies& copies, const Mesh& mesh) {
  Classes classes;
  for (const auto* copy : copies) classes[copy->raw_digest].push_back(copy);
  const Wrong wrong = wrong_among(copies, classes);
  Finding finding = finding_about(*wrong.copies.front(), "replicas_equal", Severity::kProven);
  finding.records.clear();
  finding.ranks.clear();
  for (const auto* copy : wrong.copies) add_record(finding, *copy);
  finding.decider = wrong.decider;
  finding.group = names_of(axes_between(copies, mesh));
  finding.measured = static_cast<double>(classes.size());
  finding.allowed = 1;
  finding.unit = "distinct copies";
  finding.evidence = std::to_string(copies.size()) + " copies over " + finding.group + " have " +
                     std::to_string(classes.size()) + " different contents";
  return finding;
}

std::vector<Finding> check(const RuleInput& input) {
  const Mesh mesh(input.facts);
  std::map<GroupKey, std::vector<const trace::Record*>> groups;
  for (const auto& record : input.step.records) {
    if (!record.placement || trace::is_unknown(*record.placement)) continue;
    groups[key_of(record, mesh)].push_back(&record);
  }
  std::vector<Finding> findings;
  for (const auto& [key, copies] : groups) {
    const bool equal = std::ranges::all_of(copies, [&](const trace::Record* copy) {
      return copy->raw_digest == copies.front()->raw_digest;
    });
    if (!equal) findings.push_back(finding_of(copies, mesh));
  }
  return findings;
}

}  // namespace

Rule replicas_equal() {
  return {"replicas_equal", Severity::kProven, trace::Level::kStats,
          "copies in a group are equal to the bit", check};
}

}  // namespace nanhunt::oracle
