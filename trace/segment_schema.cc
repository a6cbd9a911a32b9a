// SPDX-License-Identifier: Apache-2.0
#include "trace/segment_schema.h"

#include <algorithm>
#include <cstddef>

namespace nanhunt::trace::schema {
namespace {

using h5::Field;
using h5::Handle;

Handle copy(hid_t type) {
  return Handle(H5Tcopy(type), H5Tclose, "copy a type");
}
Handle int32_type() {
  return copy(H5T_STD_I32LE);
}
Handle int64_type() {
  return copy(H5T_STD_I64LE);
}
Handle uint8_type() {
  return copy(H5T_STD_U8LE);
}
Handle uint32_type() {
  return copy(H5T_STD_U32LE);
}
Handle uint64_type() {
  return copy(H5T_STD_U64LE);
}
Handle float_type() {
  return copy(H5T_IEEE_F32LE);
}
Handle double_type() {
  return copy(H5T_IEEE_F64LE);
}

Handle array_type(hid_t element, hsize_t count) {
  return Handle(H5Tarray_create2(element, 1, &count), H5Tclose, "create an array type");
}
Handle mesh_list_type() {
  return array_type(H5T_STD_I32LE, kMeshAxes);
}
Handle sketch_type() {
  return array_type(H5T_IEEE_F64LE, kSketchBuckets);
}

// Bytes with names, 0 .. count-1, as the vocabulary spells them.
template <typename Enum>
Handle enum_type(uint8_t count) {
  Handle type(H5Tenum_create(H5T_STD_U8LE), H5Tclose, "create an enumeration");
  for (uint8_t value = 0; value < count; ++value) {
    const std::string name(name_of(static_cast<Enum>(value)));
    h5::check(H5Tenum_insert(type, name.c_str(), &value), "create an enumeration");
  }
  return type;
}

Handle phase_type() {
  return enum_type<Phase>(9);
}
Handle lane_type() {
  return enum_type<Lane>(3);
}
Handle dtype_type() {
  return enum_type<DType>(12);
}
Handle axis_type() {
  return enum_type<MeshAxis>(kMeshAxes);
}
Handle kind_type() {
  return enum_type<PlacementKind>(8);
}
Handle reduce_type() {
  return enum_type<ReduceOp>(4);
}
Handle grade_type() {
  return enum_type<LinkGrade>(3);
}
Handle cut_type() {
  return enum_type<CutReason>(8);
}

// Bits of the mantissa from 0, then the exponent, then the sign.
Handle custom_float(size_t bytes, size_t mantissa_bits, size_t exponent_bits, size_t bias) {
  Handle type = copy(H5T_IEEE_F32LE);
  const size_t bits = 8 * bytes;
  h5::check(H5Tset_fields(type, bits - 1, mantissa_bits, exponent_bits, 0, mantissa_bits),
            "create a float type");
  h5::check(H5Tset_precision(type, bits), "create a float type");
  h5::check(H5Tset_size(type, bytes), "create a float type");
  h5::check(H5Tset_ebias(type, bias), "create a float type");
  return type;
}

// Separators would make further groups; "." and "" are no names in HDF5.
std::string group_name(const std::string& text) {
  if (text.empty()) return "%";
  std::string name;
  for (const char letter : text) {
    if (letter == '/') {
      name += "%2F";
    } else if (letter == '%') {
      name += "%25";
    } else if (letter == '\0') {
      name += "%00";
    } else {
      name += letter;
    }
  }
  return name;
}

}  // namespace

std::string values_path(const std::string& site, Phase phase, const std::string& role,
                        int64_t sequence) {
  std::string path = kValuesGroup;
  for (size_t start = 0; start <= site.size();) {
    const size_t end = std::min(site.find('.', start), site.size());
    path += '/' + group_name(site.substr(start, end - start));
    start = end + 1;
  }
  path += '/' + std::string(name_of(phase));
  return path + '/' + group_name(role) + '.' + std::to_string(sequence);
}

Handle value_type(DType dtype) {
  switch (dtype) {
    case DType::kFloat64:
      return copy(H5T_IEEE_F64LE);
    case DType::kFloat32:
      return copy(H5T_IEEE_F32LE);
    case DType::kFloat16:
      return custom_float(2, 10, 5, 15);
    case DType::kBFloat16:
      return custom_float(2, 7, 8, 127);
    case DType::kFloat8E5M2:
      return custom_float(1, 2, 5, 15);
    case DType::kInt64:
      return copy(H5T_STD_I64LE);
    case DType::kInt32:
      return copy(H5T_STD_I32LE);
    case DType::kInt16:
      return copy(H5T_STD_I16LE);
    case DType::kInt8:
      return copy(H5T_STD_I8LE);
    // HDF5 reads the largest exponent as Inf and NaN, which it is not in E4M3.
    case DType::kFloat8E4M3:
    case DType::kUInt8:
    case DType::kBool:
      return copy(H5T_STD_U8LE);
  }
  throw h5::Failure("no such dtype");
}

bool needs_dtype_attribute(DType dtype) {
  return dtype == DType::kFloat8E4M3 || dtype == DType::kBool;
}

#define NANHUNT_FIELD(Row, member, type) \
  Field {                                \
#member, offsetof(Row, member), type \
  }

std::span<const Field> header_fields() {
  static const Field fields[] = {
      NANHUNT_FIELD(HeaderRow, step, int64_type),
      NANHUNT_FIELD(HeaderRow, rank, int32_type),
      NANHUNT_FIELD(HeaderRow, index, int32_type),
      NANHUNT_FIELD(HeaderRow, world_size, int32_type),
      NANHUNT_FIELD(HeaderRow, rows, uint32_type),
      NANHUNT_FIELD(HeaderRow, first_sequence, int64_type),
      NANHUNT_FIELD(HeaderRow, last_sequence, int64_type),
      NANHUNT_FIELD(HeaderRow, cut, cut_type),
      NANHUNT_FIELD(HeaderRow, cut_detail, uint32_type),
      NANHUNT_FIELD(HeaderRow, mesh_size, mesh_list_type),
      NANHUNT_FIELD(HeaderRow, mesh_coordinate, mesh_list_type),
      NANHUNT_FIELD(HeaderRow, host, uint32_type),
      NANHUNT_FIELD(HeaderRow, device, uint32_type),
  };
  return fields;
}

std::span<const Field> record_fields() {
  constexpr size_t statistics = offsetof(RecordRow, statistics);
  static const Field fields[] = {
      NANHUNT_FIELD(RecordRow, sequence, int64_type),
      NANHUNT_FIELD(RecordRow, site, uint32_type),
      NANHUNT_FIELD(RecordRow, phase, phase_type),
      NANHUNT_FIELD(RecordRow, role, uint32_type),
      NANHUNT_FIELD(RecordRow, occurrence, int32_type),
      NANHUNT_FIELD(RecordRow, microbatch, int32_type),
      NANHUNT_FIELD(RecordRow, lane, lane_type),
      NANHUNT_FIELD(RecordRow, storage, dtype_type),
      NANHUNT_FIELD(RecordRow, compute, dtype_type),
      NANHUNT_FIELD(RecordRow, rounding, float_type),
      NANHUNT_FIELD(RecordRow, has_values, uint8_type),
      NANHUNT_FIELD(RecordRow, op, uint32_type),
      NANHUNT_FIELD(RecordRow, attributes, uint32_type),
      NANHUNT_FIELD(RecordRow, placement, uint32_type),
      NANHUNT_FIELD(RecordRow, collective, int64_type),
      NANHUNT_FIELD(RecordRow, shape_at, uint64_type),
      NANHUNT_FIELD(RecordRow, shape_count, uint32_type),
      NANHUNT_FIELD(RecordRow, links_at, uint64_type),
      NANHUNT_FIELD(RecordRow, links_count, uint32_type),
      NANHUNT_FIELD(RecordRow, regions_at, uint64_type),
      NANHUNT_FIELD(RecordRow, regions_count, uint32_type),
      NANHUNT_FIELD(RecordRow, segment_digests_at, uint64_type),
      NANHUNT_FIELD(RecordRow, segment_digests_count, uint32_type),
      NANHUNT_FIELD(RecordRow, raw_digest, uint64_type),
      Field{"count", statistics + offsetof(Statistics, count), uint64_type},
      Field{"nan", statistics + offsetof(Statistics, nan), uint64_type},
      Field{"pos_inf", statistics + offsetof(Statistics, pos_inf), uint64_type},
      Field{"neg_inf", statistics + offsetof(Statistics, neg_inf), uint64_type},
      Field{"zero", statistics + offsetof(Statistics, zero), uint64_type},
      Field{"subnormal", statistics + offsetof(Statistics, subnormal), uint64_type},
      Field{"saturated", statistics + offsetof(Statistics, saturated), uint64_type},
      Field{"padding", statistics + offsetof(Statistics, padding), uint64_type},
      Field{"min", statistics + offsetof(Statistics, min), double_type},
      Field{"max", statistics + offsetof(Statistics, max), double_type},
      Field{"sum", statistics + offsetof(Statistics, sum), double_type},
      Field{"sum_squares", statistics + offsetof(Statistics, sum_squares), double_type},
  };
  return fields;
}

std::span<const Field> region_fields() {
  static const Field fields[] = {
      NANHUNT_FIELD(RegionRow, value_digest, uint64_type),
      NANHUNT_FIELD(RegionRow, mask_digest, uint64_type),
      NANHUNT_FIELD(RegionRow, sum_squares, double_type),
      NANHUNT_FIELD(RegionRow, sketch, sketch_type),
  };
  return fields;
}

std::span<const Field> link_fields() {
  static const Field fields[] = {
      NANHUNT_FIELD(LinkRow, sequence, int64_type),
      NANHUNT_FIELD(LinkRow, grade, grade_type),
  };
  return fields;
}

std::span<const Field> placement_fields() {
  static const Field fields[] = {
      NANHUNT_FIELD(PlacementRow, axes_at, uint64_type),
      NANHUNT_FIELD(PlacementRow, axes_count, uint32_type),
      NANHUNT_FIELD(PlacementRow, logical_shape_at, uint64_type),
      NANHUNT_FIELD(PlacementRow, logical_shape_count, uint32_type),
      NANHUNT_FIELD(PlacementRow, to_logical_at, uint64_type),
      NANHUNT_FIELD(PlacementRow, to_logical_count, uint32_type),
      NANHUNT_FIELD(PlacementRow, flat, uint8_type),
      NANHUNT_FIELD(PlacementRow, mesh_at, uint64_type),
      NANHUNT_FIELD(PlacementRow, mesh_count, uint32_type),
      NANHUNT_FIELD(PlacementRow, boxes_at, uint64_type),
      NANHUNT_FIELD(PlacementRow, boxes_count, uint32_type),
  };
  return fields;
}

std::span<const Field> mesh_fields() {
  static const Field fields[] = {
      NANHUNT_FIELD(MeshRow, axis, axis_type),
      NANHUNT_FIELD(MeshRow, kind, kind_type),
      NANHUNT_FIELD(MeshRow, op, reduce_type),
      NANHUNT_FIELD(MeshRow, divisor, double_type),
  };
  return fields;
}

std::span<const Field> box_fields() {
  static const Field fields[] = {
      NANHUNT_FIELD(BoxRow, at, uint64_type),
      NANHUNT_FIELD(BoxRow, local_count, uint32_type),
      NANHUNT_FIELD(BoxRow, logical_count, uint32_type),
      NANHUNT_FIELD(BoxRow, extent_count, uint32_type),
  };
  return fields;
}

std::span<const Field> collective_fields() {
  static const Field fields[] = {
      NANHUNT_FIELD(CollectiveRow, log_index, int64_type),
      NANHUNT_FIELD(CollectiveRow, op, uint32_type),
      NANHUNT_FIELD(CollectiveRow, group_sequence, int64_type),
      NANHUNT_FIELD(CollectiveRow, group_at, uint64_type),
      NANHUNT_FIELD(CollectiveRow, group_count, uint32_type),
      NANHUNT_FIELD(CollectiveRow, reduce, reduce_type),
      NANHUNT_FIELD(CollectiveRow, divisor, double_type),
      NANHUNT_FIELD(CollectiveRow, prescaled, uint8_type),
      NANHUNT_FIELD(CollectiveRow, accumulate, dtype_type),
      NANHUNT_FIELD(CollectiveRow, order, uint32_type),
      NANHUNT_FIELD(CollectiveRow, async, uint8_type),
      NANHUNT_FIELD(CollectiveRow, issue_sequence, int64_type),
      NANHUNT_FIELD(CollectiveRow, complete_sequence, int64_type),
      NANHUNT_FIELD(CollectiveRow, inputs_at, uint64_type),
      NANHUNT_FIELD(CollectiveRow, inputs_count, uint32_type),
      NANHUNT_FIELD(CollectiveRow, outputs_at, uint64_type),
      NANHUNT_FIELD(CollectiveRow, outputs_count, uint32_type),
  };
  return fields;
}

std::span<const Field> fact_fields() {
  static const Field fields[] = {
      NANHUNT_FIELD(FactRow, name, uint32_type),
      NANHUNT_FIELD(FactRow, value, uint32_type),
  };
  return fields;
}

std::span<const Field> dropped_fields() {
  static const Field fields[] = {
      NANHUNT_FIELD(DroppedRow, reason, uint32_type),
      NANHUNT_FIELD(DroppedRow, count, int64_type),
  };
  return fields;
}

#undef NANHUNT_FIELD

}  // namespace nanhunt::trace::schema
