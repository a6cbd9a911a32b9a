// SPDX-License-Identifier: Apache-2.0
#include "trace/dtype.h"

#include <array>
#include <bit>
#include <cstring>
#include <limits>

#include "trace/check.h"
#include "trace/float_codes.h"

namespace nanhunt::trace {
namespace {

struct Facts {
  std::string_view name;
  size_t size;
  double max_finite;      // 0: not a floating type
  double unit_roundoff;
  double min_subnormal;
};

// Indexed by the number of the type.
constexpr std::array<Facts, 12> kFacts{{
    {"fp64", 8, std::numeric_limits<double>::max(), 0x1p-53, 0x1p-1074},
    {"fp32", 4, std::numeric_limits<float>::max(), 0x1p-24, 0x1p-149},
    {"fp16", 2, 65504.0, 0x1p-11, 0x1p-24},
    {"bf16", 2, 0x1.FEp127, 0x1p-8, 0x1p-133},
    {"fp8_e4m3", 1, 448.0, 0x1p-4, 0x1p-9},
    {"fp8_e5m2", 1, 57344.0, 0x1p-3, 0x1p-16},
    {"int64", 8, 0, 0, 1},
    {"int32", 4, 0, 0, 1},
    {"int16", 2, 0, 0, 1},
    {"int8", 1, 0, 0, 1},
    {"uint8", 1, 0, 0, 1},
    {"bool", 1, 0, 0, 1},
}};

const Facts& facts_of(DType dtype) {
  const auto index = static_cast<size_t>(dtype);
  NANHUNT_CHECK(index < kFacts.size());
  return kFacts[index];
}

template <class T>
T load(const void* data, size_t index) {
  T value;
  std::memcpy(&value, static_cast<const char*>(data) + index * sizeof(T), sizeof(T));
  return value;
}

template <class Code, class Wide, class Decode>
void widen(const void* data, size_t count, Wide* out, Decode decode) {
  for (size_t i = 0; i < count; ++i) out[i] = static_cast<Wide>(decode(load<Code>(data, i)));
}

template <class T>
void widen_numbers(const void* data, size_t count, double* out) {
  widen<T>(data, count, out, [](T value) { return value; });
}

// Compiled for the machine's vectors; exact in all of them. Which version is taken is found out
// before the thread sanitizer has begun, by a function that would call it.
#ifndef __SANITIZE_THREAD__
[[gnu::target_clones("avx512f", "avx2", "default")]]
#endif
void widen_floats(const void* data, size_t count, double* out) {
  for (size_t i = 0; i < count; ++i) out[i] = load<float>(data, i);
}

}  // namespace

std::string_view name_of(DType dtype) { return facts_of(dtype).name; }

std::optional<DType> dtype_from_name(std::string_view name) {
  for (size_t i = 0; i < kFacts.size(); ++i) {
    if (kFacts[i].name == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

size_t size_of(DType dtype) { return facts_of(dtype).size; }
bool is_fp8(DType dtype) { return dtype == DType::kFloat8E4M3 || dtype == DType::kFloat8E5M2; }

bool is_floating(DType dtype) { return facts_of(dtype).max_finite != 0; }
double max_finite(DType dtype) { return facts_of(dtype).max_finite; }
double unit_roundoff(DType dtype) { return facts_of(dtype).unit_roundoff; }
double min_subnormal(DType dtype) { return facts_of(dtype).min_subnormal; }

double element_as_double(const void* data, DType dtype, size_t index) {
  switch (dtype) {
    case DType::kFloat64: return load<double>(data, index);
    case DType::kFloat32: return load<float>(data, index);
    case DType::kFloat16: return float_from_fp16(load<uint16_t>(data, index));
    case DType::kBFloat16: return float_from_bf16(load<uint16_t>(data, index));
    case DType::kFloat8E4M3: return float_from_e4m3(load<uint8_t>(data, index));
    case DType::kFloat8E5M2: return float_from_e5m2(load<uint8_t>(data, index));
    case DType::kInt64: return static_cast<double>(load<int64_t>(data, index));
    case DType::kInt32: return load<int32_t>(data, index);
    case DType::kInt16: return load<int16_t>(data, index);
    case DType::kInt8: return load<int8_t>(data, index);
    case DType::kUInt8: return load<uint8_t>(data, index);
    case DType::kBool: return load<uint8_t>(data, index) != 0;
  }
  NANHUNT_CHECK(false && "unknown dtype");
}

void widen_to_float(const void* data, DType dtype, size_t count, float* out) {
  switch (dtype) {
    case DType::kFloat32: if (count != 0) std::memcpy(out, data, count * sizeof(float)); return;
    case DType::kFloat16: return widen<uint16_t>(data, count, out, float_from_fp16);
    case DType::kBFloat16: return widen<uint16_t>(data, count, out, float_from_bf16);
    case DType::kFloat8E4M3: return widen<uint8_t>(data, count, out, float_from_e4m3);
    case DType::kFloat8E5M2: return widen<uint8_t>(data, count, out, float_from_e5m2);
    default: NANHUNT_CHECK(false && "widen_to_float takes floating types up to fp32");
  }
}

void widen_to_double(const void* data, DType dtype, size_t count, double* out) {
  switch (dtype) {
    case DType::kFloat64: return widen_numbers<double>(data, count, out);
    case DType::kFloat32: return widen_floats(data, count, out);
    case DType::kFloat16: return widen<uint16_t>(data, count, out, float_from_fp16);
    case DType::kBFloat16: return widen<uint16_t>(data, count, out, float_from_bf16);
    case DType::kFloat8E4M3: return widen<uint8_t>(data, count, out, float_from_e4m3);
    case DType::kFloat8E5M2: return widen<uint8_t>(data, count, out, float_from_e5m2);
    case DType::kInt64: return widen_numbers<int64_t>(data, count, out);
    case DType::kInt32: return widen_numbers<int32_t>(data, count, out);
    case DType::kInt16: return widen_numbers<int16_t>(data, count, out);
    case DType::kInt8: return widen_numbers<int8_t>(data, count, out);
    case DType::kUInt8: return widen_numbers<uint8_t>(data, count, out);
    case DType::kBool:
      return widen<uint8_t>(data, count, out, [](uint8_t value) { return value != 0; });
  }
  NANHUNT_CHECK(false && "unknown dtype");
}

}  // namespace nanhunt::trace
