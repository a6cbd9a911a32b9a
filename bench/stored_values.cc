// SPDX-License-Identifier: Apache-2.0
#include "bench/stored_values.h"

#include <cmath>
#include <cstring>

namespace nanhunt::bench {
namespace {

// Of the last place; value is neither 0 nor infinite.
double unit_of(double value, int bits) {
  return std::ldexp(1.0, std::ilogb(value) - bits + 1);
}

}  // namespace

int significand(trace::DType dtype) {
  return -static_cast<int>(std::log2(trace::unit_roundoff(dtype)));
}

double rounded(double value, int bits) {
  if (value == 0 || !std::isfinite(value)) return value;
  return std::nearbyint(value / unit_of(value, bits)) * unit_of(value, bits);
}

double truncated(double value, int bits) {
  if (value == 0 || !std::isfinite(value)) return value;
  return std::trunc(value / unit_of(value, bits)) * unit_of(value, bits);
}

std::vector<std::byte> packed(const Values& values, trace::DType dtype) {
  std::vector<std::byte> bytes(values.size() * trace::size_of(dtype));
  for (size_t i = 0; i < values.size(); ++i) {
    std::byte* to = bytes.data() + i * trace::size_of(dtype);
    const auto single = static_cast<float>(values[i]);
    if (dtype == trace::DType::kFloat64) std::memcpy(to, &values[i], sizeof values[i]);
    if (dtype == trace::DType::kFloat32) std::memcpy(to, &single, sizeof single);
    if (dtype == trace::DType::kBFloat16)
      std::memcpy(to, reinterpret_cast<const std::byte*>(&single) + 2, 2);
    const auto half = static_cast<_Float16>(values[i]);
    if (dtype == trace::DType::kFloat16) std::memcpy(to, &half, sizeof half);
  }
  return bytes;
}

}  // namespace nanhunt::bench
