// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <span>

#include "trace/segment_tables.h"

namespace nanhunt::trace {
namespace {

using h5::Failure;

template <typename T>
std::span<const T> range(const std::vector<T>& list, uint64_t at, uint64_t count) {
  if (at > list.size() || count > list.size() - at) {
    throw Failure("a row points outside its list");
  }
  return std::span<const T>(list).subspan(at, count);
}

const std::string& text(const std::vector<std::string>& strings, uint64_t index) {
  if (index >= strings.size()) throw Failure("a row points outside the strings");
  return strings[index];
}

// A number of a vocabulary; `last` is the highest that this version knows.
template <typename Enum>
Enum word(uint8_t number, Enum last, const char* what) {
  if (number > static_cast<uint8_t>(last)) {
    throw Failure(std::string("unknown ") + what + ' ' + std::to_string(number));
  }
  return static_cast<Enum>(number);
}

template <typename Number>
std::vector<Number> numbers(const SegmentTables& tables, uint64_t at, uint64_t count) {
  const auto source = range(tables.integers, at, count);
  return std::vector<Number>(source.begin(), source.end());
}

Region region_from(const SegmentTables& tables, const schema::BoxRow& row) {
  Region region;
  region.local_start = numbers<int64_t>(tables, row.at, row.local_count);
  region.logical_start = numbers<int64_t>(tables, row.at + row.local_count, row.logical_count);
  region.extent = numbers<int64_t>(tables, row.at + row.local_count + uint64_t{row.logical_count},
                                   row.extent_count);
  return region;
}

Placement placement_from(const SegmentTables& tables, const schema::PlacementRow& row) {
  Placement placement;
  for (const int64_t index : range(tables.integers, row.axes_at, row.axes_count)) {
    placement.axes.push_back(text(tables.strings, static_cast<uint64_t>(index)));
  }
  placement.logical_shape = numbers<int64_t>(tables, row.logical_shape_at, row.logical_shape_count);
  placement.to_logical = numbers<int32_t>(tables, row.to_logical_at, row.to_logical_count);
  placement.flat = row.flat != 0;
  for (const schema::MeshRow& mesh : range(tables.mesh, row.mesh_at, row.mesh_count)) {
    placement.mesh.push_back({word(mesh.axis, MeshAxis::kMicrobatch, "mesh axis"),
                              word(mesh.kind, PlacementKind::kUnknown, "placement kind"),
                              word(mesh.op, ReduceOp::kProduct, "reduction"), mesh.divisor});
  }
  for (const schema::BoxRow& box : range(tables.boxes, row.boxes_at, row.boxes_count)) {
    placement.regions.push_back(region_from(tables, box));
  }
  return placement;
}

using Placements = std::vector<std::shared_ptr<const Placement>>;

Record record_from(const SegmentTables& tables, const Placements& placements,
                   const schema::RecordRow& row) {
  Record record;
  record.what.step = tables.header.step;
  record.what.site = text(tables.strings, row.site);
  record.what.phase = word(row.phase, Phase::kState, "phase");
  record.what.role = text(tables.strings, row.role);
  record.what.occurrence = row.occurrence;
  record.where.rank = tables.header.rank;
  record.where.microbatch = row.microbatch;
  record.where.sequence = row.sequence;
  record.where.lane = word(row.lane, Lane::kAutograd, "lane");
  record.storage = word(row.storage, DType::kBool, "dtype");
  record.compute = word(row.compute, DType::kBool, "dtype");
  record.rounding = row.rounding;
  record.has_values = row.has_values != 0;
  record.op = text(tables.strings, row.op);
  record.attributes = text(tables.strings, row.attributes);
  if (row.placement != schema::kNoPlacement) {
    record.placement = range(placements, row.placement, 1)[0];
  }
  record.collective = row.collective;
  record.local_shape = numbers<int64_t>(tables, row.shape_at, row.shape_count);
  for (const schema::LinkRow& link : range(tables.links, row.links_at, row.links_count)) {
    record.links.push_back({link.sequence, word(link.grade, LinkGrade::kValue, "link grade")});
  }
  const auto digests = range(tables.digests, row.segment_digests_at, row.segment_digests_count);
  record.segment_digests.assign(digests.begin(), digests.end());
  const auto regions = range(tables.regions, row.regions_at, row.regions_count);
  record.regions.assign(regions.begin(), regions.end());
  record.raw_digest = row.raw_digest;
  record.statistics = row.statistics;
  return record;
}

Collective collective_from(const SegmentTables& tables, const schema::CollectiveRow& row) {
  Collective collective;
  collective.step = tables.header.step;
  collective.rank = tables.header.rank;
  collective.op = text(tables.strings, row.op);
  collective.group = numbers<int32_t>(tables, row.group_at, row.group_count);
  collective.group_sequence = row.group_sequence;
  collective.reduce = word(row.reduce, ReduceOp::kProduct, "reduction");
  collective.divisor = row.divisor;
  collective.prescaled = row.prescaled != 0;
  collective.accumulate = word(row.accumulate, DType::kBool, "dtype");
  collective.order = text(tables.strings, row.order);
  collective.async = row.async != 0;
  collective.issue_sequence = row.issue_sequence;
  collective.complete_sequence = row.complete_sequence;
  collective.inputs = numbers<int64_t>(tables, row.inputs_at, row.inputs_count);
  collective.outputs = numbers<int64_t>(tables, row.outputs_at, row.outputs_count);
  return collective;
}

}  // namespace

RunFacts facts_from_tables(const schema::HeaderRow& header, const std::vector<std::string>& strings,
                           const std::vector<schema::FactRow>& facts) {
  RunFacts run;
  run.rank = header.rank;
  run.world_size = header.world_size;
  run.mesh_size = header.mesh_size;
  run.mesh_coordinate = header.mesh_coordinate;
  run.host = text(strings, header.host);
  run.device = text(strings, header.device);
  for (const schema::FactRow& fact : facts) {
    run.facts.emplace(text(strings, fact.name), text(strings, fact.value));
  }
  return run;
}

Segment from_tables(const SegmentTables& tables) {
  Segment segment;
  segment.step = tables.header.step;
  segment.rank = tables.header.rank;
  segment.index = tables.header.index;
  segment.facts = facts_from_tables(tables.header, tables.strings, tables.facts);
  segment.cut = word(tables.header.cut, CutReason::kClose, "cut reason");
  segment.cut_detail = text(tables.strings, tables.header.cut_detail);
  Placements placements;
  for (const schema::PlacementRow& row : tables.placements) {
    placements.push_back(std::make_shared<const Placement>(placement_from(tables, row)));
  }
  segment.records.reserve(tables.records.size());
  for (const schema::RecordRow& row : tables.records) {
    segment.records.push_back(record_from(tables, placements, row));
  }
  for (const schema::CollectiveRow& row : tables.collectives) {
    segment.collectives.push_back(collective_from(tables, row));
    segment.collective_index.push_back(row.log_index);
  }
  for (const schema::DroppedRow& row : tables.dropped) {
    segment.dropped.emplace_back(text(tables.strings, row.reason), row.count);
  }
  return segment;
}

}  // namespace nanhunt::trace
