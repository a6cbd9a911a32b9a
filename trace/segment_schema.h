// SPDX-License-Identifier: Apache-2.0
// Rows, field names and value types of a segment file: the one place where the format is spelled
// out in code (docs/trace_format.md in words). A field may be added with a new minor version;
// changing or removing one needs a new major version.
//
// Lists of varying length lie in shared lists: a `..._at` and `..._count` pair is a range of
// `integers`, `digests`, `links`, `regions`, `mesh` or `boxes`. Text is an index into `strings`,
// whose entry 0 is "".
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "trace/h5_table.h"
#include "trace/record.h"
#include "trace/segment.h"

namespace nanhunt::trace::schema {

inline constexpr char kFormatName[] = "nanhunt trace segment";
inline constexpr char kFormatAttribute[] = "format";
inline constexpr char kVersionAttribute[] = "version";
inline constexpr char kSegmentAttribute[] = "segment";
inline constexpr char kDTypeAttribute[] = "dtype";

// Where the values are and what they are called.
inline constexpr char kValuesGroup[] = "values";
std::string values_path(const std::string& site, Phase phase, const std::string& role,
                        int64_t sequence);
// Type of the elements in the file: IEEE, integer, or custom float for bf16 and fp8_e5m2; fp8_e4m3
// and bool are plain bytes.
h5::Handle value_type(DType dtype);
bool needs_dtype_attribute(DType dtype);

inline constexpr uint32_t kNoPlacement = 0xFFFFFFFF;

// Attribute `segment` of the root group.
struct HeaderRow {
  int64_t step = 0;
  int64_t first_sequence = -1;
  int64_t last_sequence = -1;
  int32_t rank = 0;
  int32_t index = 0;
  int32_t world_size = 0;
  std::array<int32_t, kMeshAxes> mesh_size{};
  std::array<int32_t, kMeshAxes> mesh_coordinate{};
  uint32_t host = 0;
  uint32_t device = 0;
  uint32_t cut_detail = 0;
  uint32_t rows = 0;
  uint8_t cut = 0;
};

struct RecordRow {
  int64_t sequence = 0;
  int64_t collective = -1;
  uint64_t shape_at = 0;
  uint64_t links_at = 0;
  uint64_t segment_digests_at = 0;
  uint64_t regions_at = 0;
  uint32_t shape_count = 0;
  uint32_t links_count = 0;
  uint32_t segment_digests_count = 0;
  uint32_t regions_count = 0;
  uint32_t site = 0;
  uint32_t role = 0;
  uint32_t op = 0;
  uint32_t attributes = 0;
  uint32_t placement = kNoPlacement;
  int32_t occurrence = 0;
  int32_t microbatch = -1;
  uint8_t phase = 0;
  uint8_t lane = 0;
  uint8_t storage = 0;
  uint8_t compute = 0;
  uint8_t has_values = 0;
  std::array<uint8_t, 3> reserved{};
  float rounding = 0;
  uint64_t raw_digest = 0;
  Statistics statistics;
};

using RegionRow = RegionPrint;

struct LinkRow {
  int64_t sequence = 0;
  uint8_t grade = 0;
};

struct PlacementRow {
  uint64_t axes_at = 0;  // integers: indices into strings
  uint64_t logical_shape_at = 0;
  uint64_t to_logical_at = 0;
  uint64_t mesh_at = 0;
  uint64_t boxes_at = 0;
  uint32_t axes_count = 0;
  uint32_t logical_shape_count = 0;
  uint32_t to_logical_count = 0;
  uint32_t mesh_count = 0;
  uint32_t boxes_count = 0;
  uint8_t flat = 0;
};

struct MeshRow {
  double divisor = 1.0;
  uint8_t axis = 0;
  uint8_t kind = 0;
  uint8_t op = 0;
};

// Local start, logical start and extent follow one another in integers, from `at` on.
struct BoxRow {
  uint64_t at = 0;
  uint32_t local_count = 0;
  uint32_t logical_count = 0;
  uint32_t extent_count = 0;
};

struct CollectiveRow {
  int64_t log_index = 0;
  int64_t group_sequence = 0;
  int64_t issue_sequence = 0;
  int64_t complete_sequence = 0;
  uint64_t group_at = 0;
  uint64_t inputs_at = 0;
  uint64_t outputs_at = 0;
  double divisor = 1.0;
  uint32_t group_count = 0;
  uint32_t inputs_count = 0;
  uint32_t outputs_count = 0;
  uint32_t op = 0;
  uint32_t order = 0;
  uint8_t reduce = 0;
  uint8_t prescaled = 0;
  uint8_t accumulate = 0;
  uint8_t async = 0;
};

struct FactRow {
  uint32_t name = 0;
  uint32_t value = 0;
};

struct DroppedRow {
  int64_t count = 0;
  uint32_t reason = 0;
};

std::span<const h5::Field> header_fields();
std::span<const h5::Field> record_fields();
std::span<const h5::Field> region_fields();
std::span<const h5::Field> link_fields();
std::span<const h5::Field> placement_fields();
std::span<const h5::Field> mesh_fields();
std::span<const h5::Field> box_fields();
std::span<const h5::Field> collective_fields();
std::span<const h5::Field> fact_fields();
std::span<const h5::Field> dropped_fields();

}  // namespace nanhunt::trace::schema
