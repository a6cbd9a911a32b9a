// SPDX-License-Identifier: Apache-2.0
#include "checkpoint/tensor_pass.h"

#include <algorithm>
#include <cstring>

#include "trace/check.h"
#include "trace/fingerprint.h"

namespace nanhunt::checkpoint {
namespace {

// SplitMix64's finaliser over a chain: the digest of a tensor from those of its windows, in order.
uint64_t chain(uint64_t digest, uint64_t window) {
  uint64_t x = (digest ^ window) + 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

uint64_t count_codes(std::span<const std::byte> bytes, int code) {
  return static_cast<uint64_t>(
      std::count(bytes.begin(), bytes.end(), static_cast<std::byte>(code)));
}

int64_t elements_in(const TensorEntry& tensor, int64_t bytes) {
  return bytes * 8 / tensor.type->bits;
}

bool bits_differ(const ElementType& type, const std::byte* left, const std::byte* right,
                 int64_t index) {
  if (type.bits < 8) {
    return number_at(type, left, index).value != number_at(type, right, index).value;
  }
  const int64_t size = type.bits / 8;
  return std::memcmp(left + index * size, right + index * size, static_cast<size_t>(size)) != 0;
}

}  // namespace

bool TensorFacts::all_zero(const ElementType& type) const {
  // Zero bytes are zeros in all coded types but F8_E8M0, which has no zero.
  return statistics.count > 0 && statistics.zero == statistics.count && type.name != "F8_E8M0";
}

bool TensorFacts::constant(const ElementType& type) const {
  // Of packed codes equal bytes are no equal elements, and of two parts no equal pairs.
  if (type.bits % 8 != 0 || type.views() != 1) return all_zero(type);
  return statistics.count > 0 && non_finite() == 0 && statistics.min == statistics.max;
}

TensorFacts examine(const TensorData& data, const TensorEntry& tensor) {
  static const trace::Placement unknown;
  TensorFacts facts;
  const auto size = static_cast<int64_t>(trace::size_of(tensor.type->view));
  for_each_window(data, tensor, [&](int64_t, std::span<const std::byte> window) {
    const auto count = static_cast<int64_t>(window.size()) / size;
    const trace::Prints prints = trace::fingerprint(
        trace::contiguous_view(window.data(), tensor.type->view, {count}), unknown);
    facts.statistics = trace::merge(facts.statistics, prints.statistics);
    facts.digest = chain(facts.digest, prints.raw_digest);
    if (tensor.type->nan_code >= 0) facts.nan_codes += count_codes(window, tensor.type->nan_code);
    return true;
  });
  return facts;
}

Selected select(const TensorData& data, const TensorEntry& tensor, const ElementTest& test,
                bool count_all) {
  Selected selected;
  for_each_window(data, tensor, [&](int64_t start, std::span<const std::byte> window) {
    const int64_t count = elements_in(tensor, static_cast<int64_t>(window.size()));
    for (int64_t i = 0; i < count; ++i) {
      if (!test(*tensor.type, window.data(), i)) continue;
      if (selected.count++ > 0) continue;
      selected.first = {elements_in(tensor, start) + i, number_at(*tensor.type, window.data(), i)};
      if (!count_all) return false;
    }
    return true;
  });
  return selected;
}

Difference difference(const TensorData& left_data, const TensorEntry& left,
                      const TensorData& right_data, const TensorEntry& right) {
  NANHUNT_CHECK(left.type == right.type && left.bytes == right.bytes);
  const ElementType& type = *left.type;
  Difference found;
  std::vector<std::byte> buffer(static_cast<size_t>(std::min(left.bytes, kWindowBytes)));
  for_each_window(left_data, left, [&](int64_t start, std::span<const std::byte> window) {
    const std::span<std::byte> other(buffer.data(), window.size());
    right_data.read(right, start, other);
    if (std::memcmp(window.data(), other.data(), window.size()) == 0) return true;
    const int64_t count = elements_in(left, static_cast<int64_t>(window.size()));
    for (int64_t i = 0; i < count; ++i) {
      if (!bits_differ(type, window.data(), other.data(), i)) continue;
      if (found.count++ > 0) continue;
      found.first = elements_in(left, start) + i;
      found.left = number_at(type, window.data(), i);
      found.right = number_at(type, other.data(), i);
    }
    return true;
  });
  return found;
}

}  // namespace nanhunt::checkpoint
