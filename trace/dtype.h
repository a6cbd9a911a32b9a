// SPDX-License-Identifier: Apache-2.0
// Element types of captured tensors: names, sizes, limits, and conversion to double.
// Numbers are written to trace files: never renumber, only append.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace nanhunt::trace {

enum class DType : uint8_t {
  kFloat64 = 0,
  kFloat32 = 1,
  kFloat16 = 2,
  kBFloat16 = 3,
  kFloat8E4M3 = 4,  // E4M3FN: max 448, NaN 0x7F and 0xFF, no Inf
  kFloat8E5M2 = 5,  // IEEE-like: max 57344, Inf 0x7C
  kInt64 = 6,
  kInt32 = 7,
  kInt16 = 8,
  kInt8 = 9,
  kUInt8 = 10,
  kBool = 11,
};

// Short name: fp64 fp32 fp16 bf16 fp8_e4m3 fp8_e5m2 int64 int32 int16 int8 uint8 bool.
std::string_view name_of(DType dtype);
std::optional<DType> dtype_from_name(std::string_view name);
size_t size_of(DType dtype);  // bytes per element
bool is_floating(DType dtype);
bool is_fp8(DType dtype);
double max_finite(DType dtype);  // largest finite value of a floating type
// Unit roundoff u = eps/2 of a floating type: 2^-53, 2^-24, 2^-11, 2^-8, 2^-4, 2^-3; 0 for the
// others.
double unit_roundoff(DType dtype);
double min_subnormal(DType dtype);  // smallest positive value

// The element at `index` of a packed array, widened without loss (int64 beyond 2^53 rounds to
// nearest).
double element_as_double(const void* data, DType dtype, size_t index);
// Widens `count` packed elements to FP32 (floating types up to FP32 only; exact, NaN stays NaN).
void widen_to_float(const void* data, DType dtype, size_t count, float* out);
// Widens `count` packed elements of any type, as element_as_double does.
void widen_to_double(const void* data, DType dtype, size_t count, double* out);

}  // namespace nanhunt::trace
