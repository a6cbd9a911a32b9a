// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <unordered_map>

#include "trace/segment_tables.h"

namespace nanhunt::trace {
namespace {

using h5::Failure;

int64_t product(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  return count;
}

// Fills the shared lists; each text and each placement goes in once.
class TableBuilder {
 public:
  explicit TableBuilder(SegmentTables* tables) : tables_(*tables) { text(""); }

  uint32_t text(const std::string& value) {
    const auto [entry, added] =
        texts_.try_emplace(value, static_cast<uint32_t>(tables_.strings.size()));
    if (added) tables_.strings.push_back(value);
    return entry->second;
  }

  template <typename Range>
  void integers(const Range& values, uint64_t* at, uint32_t* count) {
    *at = tables_.integers.size();
    *count = static_cast<uint32_t>(values.size());
    tables_.integers.insert(tables_.integers.end(), values.begin(), values.end());
  }

  uint32_t placement(const Placement* value) {
    if (value == nullptr) return schema::kNoPlacement;
    const auto known = placements_.find(value);
    if (known != placements_.end()) return known->second;
    const uint32_t index = equal_placement(*value);
    placements_.emplace(value, index);
    return index;
  }

  void record(const Record& source, bool has_values) {
    schema::RecordRow& row = tables_.records.emplace_back();
    row.sequence = source.where.sequence;
    row.site = text(source.what.site);
    row.phase = static_cast<uint8_t>(source.what.phase);
    row.role = text(source.what.role);
    row.occurrence = source.what.occurrence;
    row.microbatch = source.where.microbatch;
    row.lane = static_cast<uint8_t>(source.where.lane);
    row.storage = static_cast<uint8_t>(source.storage);
    row.compute = static_cast<uint8_t>(source.compute);
    row.rounding = source.rounding;
    row.has_values = has_values;
    row.op = text(source.op);
    row.attributes = text(source.attributes);
    row.placement = placement(source.placement.get());
    row.collective = source.collective;
    row.raw_digest = source.raw_digest;
    row.statistics = source.statistics;
    integers(source.local_shape, &row.shape_at, &row.shape_count);
    row.links_at = tables_.links.size();
    row.links_count = static_cast<uint32_t>(source.links.size());
    for (const Link& link : source.links) {
      tables_.links.push_back({link.sequence, static_cast<uint8_t>(link.grade)});
    }
    row.segment_digests_at = tables_.digests.size();
    row.segment_digests_count = static_cast<uint32_t>(source.segment_digests.size());
    tables_.digests.insert(tables_.digests.end(), source.segment_digests.begin(),
                           source.segment_digests.end());
    row.regions_at = tables_.regions.size();
    row.regions_count = static_cast<uint32_t>(source.regions.size());
    tables_.regions.insert(tables_.regions.end(), source.regions.begin(), source.regions.end());
  }

  void collective(const Collective& source, int64_t log_index) {
    schema::CollectiveRow& row = tables_.collectives.emplace_back();
    row.log_index = log_index;
    row.op = text(source.op);
    row.group_sequence = source.group_sequence;
    integers(source.group, &row.group_at, &row.group_count);
    row.reduce = static_cast<uint8_t>(source.reduce);
    row.divisor = source.divisor;
    row.prescaled = source.prescaled;
    row.accumulate = static_cast<uint8_t>(source.accumulate);
    row.order = text(source.order);
    row.async = source.async;
    row.issue_sequence = source.issue_sequence;
    row.complete_sequence = source.complete_sequence;
    integers(source.inputs, &row.inputs_at, &row.inputs_count);
    integers(source.outputs, &row.outputs_at, &row.outputs_count);
  }

 private:
  // Index of a placement with these contents, added when there is none.
  uint32_t equal_placement(const Placement& value) {
    auto& candidates = by_size_[value.regions.size()];
    for (const auto& [other, index] : candidates) {
      if (*other == value) return index;
    }
    const auto index = static_cast<uint32_t>(tables_.placements.size());
    add_placement(value);
    candidates.emplace_back(&value, index);
    return index;
  }

  void add_placement(const Placement& value) {
    schema::PlacementRow row;
    std::vector<uint32_t> axes;
    for (const std::string& axis : value.axes) axes.push_back(text(axis));
    integers(axes, &row.axes_at, &row.axes_count);
    integers(value.logical_shape, &row.logical_shape_at, &row.logical_shape_count);
    integers(value.to_logical, &row.to_logical_at, &row.to_logical_count);
    row.flat = value.flat;
    row.mesh_at = tables_.mesh.size();
    row.mesh_count = static_cast<uint32_t>(value.mesh.size());
    for (const AxisPlacement& axis : value.mesh) {
      tables_.mesh.push_back({axis.divisor, static_cast<uint8_t>(axis.axis),
                              static_cast<uint8_t>(axis.kind), static_cast<uint8_t>(axis.op)});
    }
    row.boxes_at = tables_.boxes.size();
    row.boxes_count = static_cast<uint32_t>(value.regions.size());
    for (const Region& region : value.regions) add_box(region);
    tables_.placements.push_back(row);
  }

  void add_box(const Region& region) {
    schema::BoxRow row;
    uint64_t unused = 0;
    integers(region.local_start, &row.at, &row.local_count);
    integers(region.logical_start, &unused, &row.logical_count);
    integers(region.extent, &unused, &row.extent_count);
    tables_.boxes.push_back(row);
  }

  SegmentTables& tables_;
  std::unordered_map<std::string, uint32_t> texts_;
  std::unordered_map<const Placement*, uint32_t> placements_;
  std::unordered_map<size_t, std::vector<std::pair<const Placement*, uint32_t>>> by_size_;
};

void fill_header(const Segment& segment, TableBuilder* builder, schema::HeaderRow* header) {
  header->step = segment.step;
  header->rank = segment.rank;
  header->index = segment.index;
  header->world_size = segment.facts.world_size;
  header->mesh_size = segment.facts.mesh_size;
  header->mesh_coordinate = segment.facts.mesh_coordinate;
  header->host = builder->text(segment.facts.host);
  header->device = builder->text(segment.facts.device);
  header->cut = static_cast<uint8_t>(segment.cut);
  header->cut_detail = builder->text(segment.cut_detail);
  header->rows = static_cast<uint32_t>(segment.records.size());
  if (segment.records.empty()) return;
  const auto by_sequence = [](const Record& a, const Record& b) {
    return a.where.sequence < b.where.sequence;
  };
  const auto [first, last] =
      std::minmax_element(segment.records.begin(), segment.records.end(), by_sequence);
  header->first_sequence = first->where.sequence;
  header->last_sequence = last->where.sequence;
}

void check_segment(const Segment& segment) {
  if (segment.collective_index.size() != segment.collectives.size()) {
    throw Failure("collectives and their log indices differ in number");
  }
  if (!segment.values.empty() && segment.values.size() != segment.records.size()) {
    throw Failure("records and values differ in number");
  }
  for (size_t i = 0; i < segment.records.size(); ++i) {
    const Record& record = segment.records[i];
    if (record.what.step != segment.step || record.where.rank != segment.rank) {
      throw Failure("record " + describe(record.what) + " of rank " +
                    std::to_string(record.where.rank) + " belongs to another segment");
    }
    const std::vector<std::byte>* values = captured_values(segment, i);
    if (values != nullptr && values->size() != static_cast<size_t>(product(record.local_shape)) *
                                                   size_of(record.storage)) {
      throw Failure("values of " + describe(record.what) + " do not have the size of its shape");
    }
  }
}

}  // namespace

const std::vector<std::byte>* captured_values(const Segment& segment, size_t index) {
  if (index >= segment.values.size()) return nullptr;
  const std::vector<std::byte>& values = segment.values[index];
  const Record& record = segment.records[index];
  if (!values.empty()) return &values;
  return record.has_values && product(record.local_shape) == 0 ? &values : nullptr;
}

SegmentTables to_tables(const Segment& segment) {
  check_segment(segment);
  SegmentTables tables;
  TableBuilder builder(&tables);
  fill_header(segment, &builder, &tables.header);
  tables.records.reserve(segment.records.size());
  for (size_t i = 0; i < segment.records.size(); ++i) {
    builder.record(segment.records[i], captured_values(segment, i) != nullptr);
  }
  for (size_t i = 0; i < segment.collectives.size(); ++i) {
    builder.collective(segment.collectives[i], segment.collective_index[i]);
  }
  for (const auto& [name, value] : segment.facts.facts) {
    tables.facts.push_back({builder.text(name), builder.text(value)});
  }
  for (const auto& [reason, count] : segment.dropped) {
    tables.dropped.push_back({count, builder.text(reason)});
  }
  return tables;
}

}  // namespace nanhunt::trace
