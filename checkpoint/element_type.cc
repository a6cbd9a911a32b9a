// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/element_type.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace nanhunt::checkpoint {
namespace {

using trace::DType;

ElementType number_type(std::string_view name, DType view) {
  return {name, static_cast<int>(8 * trace::size_of(view)), view, trace::is_floating(view)};
}

ElementType code_type(std::string_view name, int bits, int nan_code = -1) {
  return {name, bits, DType::kUInt8, true, nan_code, true};
}

const std::array<ElementType, 22>& types() {
  static const std::array<ElementType, 22> table = {
      number_type("BOOL", DType::kBool),
      // Formats for Microscaling (MX), OCP 1.0: neither F4 nor F6 has a code for NaN or Inf.
      code_type("F4", 4),
      code_type("F6_E2M3", 6),
      code_type("F6_E3M2", 6),
      number_type("U8", DType::kUInt8),
      number_type("I8", DType::kInt8),
      number_type("F8_E5M2", DType::kFloat8E5M2),
      number_type("F8_E4M3", DType::kFloat8E4M3),
      code_type("F8_E8M0", 8, 0xFF),
      // One NaN where the others have -0 (arXiv:2206.02915).
      code_type("F8_E4M3FNUZ", 8, 0x80),
      code_type("F8_E5M2FNUZ", 8, 0x80),
      number_type("I16", DType::kInt16),
      number_type("U16", DType::kInt16),
      number_type("F16", DType::kFloat16),
      number_type("BF16", DType::kBFloat16),
      number_type("I32", DType::kInt32),
      number_type("U32", DType::kInt32),
      number_type("F32", DType::kFloat32),
      ElementType{"C64", 64, DType::kFloat32, true},
      number_type("F64", DType::kFloat64),
      number_type("I64", DType::kInt64),
      number_type("U64", DType::kInt64),
  };
  return table;
}

std::string text_of(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Inf" : "-Inf";
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

// Bits [index * bits, (index + 1) * bits) of the packed elements, lowest first.
int code_at(const ElementType& type, const void* data, int64_t index) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  int code = 0;
  for (int bit = 0; bit < type.bits; ++bit) {
    const int64_t at = index * type.bits + bit;
    code |= ((bytes[at / 8] >> (at % 8)) & 1) << bit;
  }
  return code;
}

template <class T>
T whole_at(const void* data, int64_t index) {
  T value;
  std::memcpy(&value, static_cast<const char*>(data) + index * static_cast<int64_t>(sizeof(T)),
              sizeof(T));
  return value;
}

template <class T>
Number whole(const void* data, int64_t index) {
  const T value = whole_at<T>(data, index);
  return {static_cast<double>(value), std::to_string(value)};
}

}  // namespace

const ElementType* element_type(std::string_view name) {
  for (const ElementType& type : types()) {
    if (type.name == name) return &type;
  }
  return nullptr;
}

Number number_at(const ElementType& type, const void* data, int64_t index) {
  if (type.coded) {
    const int code = code_at(type, data, index);
    return {static_cast<double>(code), "code " + std::to_string(code)};
  }
  if (type.name == "U16") return whole<uint16_t>(data, index);
  if (type.name == "U32") return whole<uint32_t>(data, index);
  if (type.name == "U64") return whole<uint64_t>(data, index);
  if (type.name == "I64") return whole<int64_t>(data, index);
  const auto at = static_cast<size_t>(index) * static_cast<size_t>(type.views());
  const double value = trace::element_as_double(data, type.view, at);
  if (type.views() == 1) return {value, text_of(value)};
  const double imaginary = trace::element_as_double(data, type.view, at + 1);
  return {value, text_of(value) + " + i " + text_of(imaginary)};
}

bool non_finite_at(const ElementType& type, const void* data, int64_t index) {
  if (!type.floating) return false;
  if (type.coded) return type.nan_code >= 0 && code_at(type, data, index) == type.nan_code;
  const auto views = static_cast<size_t>(type.views());
  for (size_t part = 0; part < views; ++part) {
    const size_t at = static_cast<size_t>(index) * views + part;
    if (!std::isfinite(trace::element_as_double(data, type.view, at))) return true;
  }
  return false;
}

}  // namespace nanhunt::checkpoint
