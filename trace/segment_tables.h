// SPDX-License-Identifier: Apache-2.0
// A segment as the tables of its file, and back. The tables know nothing of HDF5; making them
// copies no values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trace/segment.h"
#include "trace/segment_schema.h"

namespace nanhunt::trace {

struct SegmentTables {
  schema::HeaderRow header;
  std::vector<std::string> strings;  // each text once; entry 0 is ""
  std::vector<int64_t> integers;
  std::vector<uint64_t> digests;
  std::vector<schema::RecordRow> records;
  std::vector<schema::LinkRow> links;
  std::vector<schema::RegionRow> regions;
  std::vector<schema::PlacementRow> placements;  // each placement once
  std::vector<schema::MeshRow> mesh;
  std::vector<schema::BoxRow> boxes;
  std::vector<schema::CollectiveRow> collectives;
  std::vector<schema::FactRow> facts;
  std::vector<schema::DroppedRow> dropped;
};

// Throws Failure when the segment contradicts itself: a record of another step or rank, lists of
// unequal length, values whose size is not that of the shape.
SegmentTables to_tables(const Segment& segment);
// The values of record `index`; nullptr when they were not captured.
const std::vector<std::byte>* captured_values(const Segment& segment, size_t index);

// Throws Failure when a row points outside its list or holds a number that has no meaning. Values
// and facts.host, facts.device included; `values` stays empty.
Segment from_tables(const SegmentTables& tables);
RunFacts facts_from_tables(const schema::HeaderRow& header, const std::vector<std::string>& strings,
                           const std::vector<schema::FactRow>& facts);

}  // namespace nanhunt::trace
