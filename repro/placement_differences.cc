// SPDX-License-Identifier: Apache-2.0
#include "repro/placement_differences.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "capsule/load.h"
#include "oracle/logical.h"

namespace nanhunt::repro {
namespace {

using capsule::Capsule;
using capsule::Kind;
using oracle::Logical;
using Name = std::pair<std::string, std::string>;  // site, role

struct Side {
  const Capsule* capsule = nullptr;
  const Logical* logical = nullptr;

  const trace::Record& record() const {
    return capsule->step().records[static_cast<size_t>(logical->pieces.front().record)];
  }
  int32_t mesh_size(trace::MeshAxis axis) const {
    return capsule->reader().facts().front().mesh_size[static_cast<size_t>(axis)];
  }
};

bool is_of_a_parameter(const trace::What& what) {
  const Kind kind = capsule::kind_of(what.site, what.role);
  return kind == Kind::kParameters || kind == Kind::kMasters || kind == Kind::kMoments;
}

std::map<Name, Logical> tensors_of(const Capsule& capsule) {
  std::map<Name, Logical> all;
  for (Logical& logical : oracle::assemble(capsule.step(), capsule.reader().facts())) {
    if (logical.pieces.empty() || !is_of_a_parameter(logical.what)) continue;
    all.emplace(Name(logical.what.site, logical.what.role), std::move(logical));
  }
  return all;
}

std::string type_text(const Side& side) {
  return std::string(trace::name_of(side.record().storage)) + " " +
         capsule::shape_text(side.logical->shape);
}

// Whether one is the other with further rows: what they share is then held against each other.
std::string shared_rows(const Side& a, const Side& b) {
  const auto &mine = a.logical->shape, &others = b.logical->shape;
  if (mine.size() != others.size() || mine.empty() || !a.logical->complete || !b.logical->complete)
    return "";
  if (!std::equal(mine.begin() + 1, mine.end(), others.begin() + 1)) return "";
  const int64_t rows = std::min(mine.front(), others.front());
  const int64_t flat = mine.size() == 1 ? 1
                                        : rows * std::accumulate(mine.begin() + 1, mine.end() - 1,
                                                                 int64_t{1}, std::multiplies<>());
  auto values = [&](const Side& side) {
    auto all = oracle::logical_values(side.capsule->step(), side.capsule->reader(), *side.logical,
                                      0, flat);
    if (mine.size() == 1) all.resize(static_cast<size_t>(rows));
    return all;
  };
  return "; the first " + std::to_string(rows) + " rows " +
         (values(a) == values(b) ? "are equal" : "differ");
}

uint64_t padding_of(const Side& side) {
  uint64_t cells = 0;
  for (const auto& record : side.capsule->step().records) {
    if (record.what == side.logical->what) cells += record.statistics.padding;
  }
  return cells;
}

// "over tp: shard in A, replicated in B"; axes that one mesh does not have tell nothing.
std::string mesh_text(const Side& a, const Side& b) {
  std::string text;
  for (int i = 0; i < trace::kMeshAxes; ++i) {
    const auto axis = static_cast<trace::MeshAxis>(i);
    if (a.mesh_size(axis) < 2 || b.mesh_size(axis) < 2) continue;
    const auto mine = trace::on_axis(*a.record().placement, axis).kind,
               other = trace::on_axis(*b.record().placement, axis).kind;
    if (mine == other) continue;
    text += (text.empty() ? "" : ", ") + std::string("over ") + std::string(trace::name_of(axis)) +
            " is " + std::string(trace::name_of(mine)) + " in A, " +
            std::string(trace::name_of(other)) + " in B";
  }
  return text;
}

// Dimensions of which a rank holds a part: "0", "0 1".
std::string cut_dimensions(const Side& side) {
  const auto& placement = *side.record().placement;
  if (placement.flat || placement.regions.empty()) return "";
  std::string text;
  for (size_t d = 0; d < placement.logical_shape.size(); ++d) {
    if (placement.regions.front().extent[d] == placement.logical_shape[d]) continue;
    text += (text.empty() ? "" : " ") + std::to_string(d);
  }
  return text;
}

PlacementDifference compare(const Side& a, const Side& b) {
  if (a.logical->shape != b.logical->shape || a.record().storage != b.record().storage)
    return {"", "is " + type_text(a) + " in A, " + type_text(b) + " in B" + shared_rows(a, b),
            true};
  std::string text = mesh_text(a, b);
  const auto add = [&](const std::string& more) { text += (text.empty() ? "" : "; ") + more; };
  if (a.record().placement->to_logical != b.record().placement->to_logical)
    add("has its dimensions in another order");
  if (a.record().placement->flat != b.record().placement->flat)
    add(std::string("is a range of a flat buffer in ") + (a.record().placement->flat ? "A" : "B") +
        " only");
  const std::string cut_a = cut_dimensions(a), cut_b = cut_dimensions(b);
  if (!cut_a.empty() && !cut_b.empty() && cut_a != cut_b)
    add("is cut along dimension " + cut_a + " in A, " + cut_b + " in B");
  const uint64_t mine = padding_of(a), other = padding_of(b);
  if (mine != other)
    add("has " + std::to_string(mine) + " padding cells in A, " + std::to_string(other) + " in B");
  return {"", text, false};
}

}  // namespace

std::vector<PlacementDifference> compare_placements(const Capsule& a, const Capsule& b) {
  const auto mine = tensors_of(a), others = tensors_of(b);
  std::vector<PlacementDifference> differences;
  // Layers are alike: one line for each kind of tensor and difference.
  std::map<std::pair<std::string, std::string>, std::pair<size_t, int>> places;
  for (const auto& [name, logical] : mine) {
    const auto other = others.find(name);
    if (other == others.end()) continue;
    PlacementDifference found = compare({&a, &logical}, {&b, &other->second});
    if (found.what.empty()) continue;
    const std::string kind = trace::site_kind(name.first) + " " + name.second;
    const auto [place, is_new] = places.try_emplace({kind, found.what}, differences.size(), 0);
    ++place->second.second;
    if (!is_new) continue;
    found.tensors = name.first + " " + name.second;
    differences.push_back(std::move(found));
  }
  for (const auto& [what, place] : places) {
    const auto& [index, count] = place;
    if (count > 1) differences[index].tensors += " and " + std::to_string(count - 1) + " like it";
  }
  return differences;
}

}  // namespace nanhunt::repro
