// SPDX-License-Identifier: Apache-2.0
#include "golden/items.h"

#include <cmath>
#include <set>

#include "compare/signatures/pairs.h"
#include "oracle/sha256.h"

namespace nanhunt::golden {
namespace {

Item item_of(const trace::Record& record) {
  Item item;
  item.digest = record.raw_digest;
  item.count = record.statistics.count;
  item.non_finite = trace::non_finite_elements(record);
  item.norm = std::sqrt(record.statistics.sum_squares);
  if (record.regions.empty()) return item;
  const trace::RegionPrint print = compare::print_of(record);
  item.mask = print.mask_digest;
  item.sketch = print.sketch;
  return item;
}

Item item_of(const compare::SideStep& side, size_t index) {
  const oracle::Logical& logical = side.logicals[index];
  Item item;
  item.digest = logical.print.value_digest;
  item.count = logical.count;
  std::set<int> counted;  // a record may give several pieces
  for (const auto& piece : logical.pieces) {
    if (counted.insert(piece.record).second)
      item.non_finite += trace::non_finite_elements(side.record(piece.record));
  }
  item.mask = logical.print.mask_digest;
  item.norm = std::sqrt(logical.print.sum_squares);
  item.sketch = logical.print.sketch;
  item.records = side.holders[index];
  return item;
}

}  // namespace

Items items_by_rank(const compare::SideStep& side) {
  Items items;
  for (size_t i = 0; i < side.step->records.size(); ++i) {
    const auto& record = side.step->records[i];
    Key key{record.what, record.where.rank, record.where.microbatch, 0};
    while (items.contains(key)) ++key.repeat;
    Item item = item_of(record);
    item.records = {static_cast<int>(i)};
    items.emplace(std::move(key), std::move(item));
  }
  return items;
}

Items items_by_logical(const compare::SideStep& side) {
  Items items;
  for (size_t i = 0; i < side.logicals.size(); ++i) {
    const auto& logical = side.logicals[i];
    if (!logical.complete || logical.partial || !compare::by_envelope(logical.what.phase)) continue;
    items.emplace(Key{logical.what}, item_of(side, i));
  }
  return items;
}

std::string layout_name(const compare::TraceSource& source) {
  std::string name = std::to_string(source.world_size) + " ranks";
  if (source.facts.empty()) return name;
  for (int a = 0; a < trace::kMeshAxes; ++a) {
    const int32_t size = source.facts.front().mesh_size[static_cast<size_t>(a)];
    if (size > 1) {
      name += ", " + std::string(trace::name_of(static_cast<trace::MeshAxis>(a))) + " " +
              std::to_string(size);
    }
  }
  return name;
}

std::string places_hash(const compare::TraceSource& source) {
  std::string text = layout_name(source);
  for (const auto& facts : source.facts) {
    text += "\n" + std::to_string(facts.rank) + ":";
    for (const int32_t coordinate : facts.mesh_coordinate) text += " " + std::to_string(coordinate);
  }
  return oracle::sha256(text).substr(0, 16);
}

}  // namespace nanhunt::golden
