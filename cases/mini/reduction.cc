// SPDX-License-Identifier: Apache-2.0
#include "cases/mini/reduction.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "cases/mini/rounding.h"

namespace nanhunt::mini {
namespace {

constexpr size_t kBlock = 1024;  // elements at a time, so that partial results stay in the cache

float larger(float a, float b) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<float>::quiet_NaN();
  if (a == b) return std::signbit(a) ? b : a;
  return a > b ? a : b;
}

float apply(trace::ReduceOp op, float a, float b) {
  switch (op) {
    case trace::ReduceOp::kSum:
      return a + b;
    case trace::ReduceOp::kMax:
      return larger(a, b);
    case trace::ReduceOp::kMin:
      return -larger(-a, -b);
    case trace::ReduceOp::kProduct:
      return a * b;
  }
  return std::numeric_limits<float>::quiet_NaN();
}

template <trace::ReduceOp kOp>
void apply_all(std::span<float> into, const float* other) {
  for (size_t i = 0; i < into.size(); ++i) into[i] = apply(kOp, into[i], other[i]);
}

void accumulate(std::span<float> into, const float* other, const ReduceOptions& options) {
  switch (options.op) {
    case trace::ReduceOp::kSum:
      apply_all<trace::ReduceOp::kSum>(into, other);
      break;
    case trace::ReduceOp::kMax:
      apply_all<trace::ReduceOp::kMax>(into, other);
      break;
    case trace::ReduceOp::kMin:
      apply_all<trace::ReduceOp::kMin>(into, other);
      break;
    case trace::ReduceOp::kProduct:
      apply_all<trace::ReduceOp::kProduct>(into, other);
      break;
  }
  if (options.accumulate_in_storage) round_to(into, options.storage);
}

// `partials` holds one array of `count` per member; the result ends up in the first.
void reduce_tree(std::span<float> partials, size_t count, const ReduceOptions& options) {
  const size_t members = partials.size() / count;
  for (size_t stride = 1; stride < members; stride *= 2) {
    for (size_t i = 0; i + stride < members; i += 2 * stride) {
      accumulate(partials.subspan(i * count, count), &partials[(i + stride) * count], options);
    }
  }
}

void reduce_chain(std::span<float> partials, size_t count, size_t first,
                  const ReduceOptions& options) {
  const size_t members = partials.size() / count;
  std::vector<float> sum(partials.begin() + first * count, partials.begin() + (first + 1) * count);
  for (size_t k = 1; k < members; ++k) {
    accumulate(sum, &partials[(first + k) % members * count], options);
  }
  std::copy(sum.begin(), sum.end(), partials.begin());
}

void finish(std::span<float> result, const ReduceOptions& options) {
  round_to(result, options.storage);
  for (float& value : result) {
    if (std::isnan(value)) value = std::bit_cast<float>(0x7FC00000u);
  }
}

}  // namespace

void reduce(std::span<const float* const> members, size_t first, const ReduceOptions& options,
            std::span<float> out) {
  std::vector<float> partials;
  for (size_t begin = 0; begin < out.size(); begin += kBlock) {
    const size_t count = std::min(kBlock, out.size() - begin);
    partials.resize(members.size() * count);
    for (size_t m = 0; m < members.size(); ++m) {
      std::copy_n(members[m] + begin, count, &partials[m * count]);
    }
    if (options.order == ReduceOrder::kTree) {
      reduce_tree(partials, count, options);
    } else {
      const bool ring = options.order == ReduceOrder::kRing;
      reduce_chain(partials, count, ring ? first % members.size() : 0, options);
    }
    finish({partials.data(), count}, options);
    std::copy_n(partials.begin(), count, out.begin() + begin);
  }
}

}  // namespace nanhunt::mini
