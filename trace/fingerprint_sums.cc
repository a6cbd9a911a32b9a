// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "trace/check.h"
#include "trace/fingerprint_kernel.h"

namespace nanhunt::trace {

NarrowFormat narrow_format(DType dtype) {
  const auto bits = [](double value) { return std::bit_cast<uint32_t>(static_cast<float>(value)); };
  switch (dtype) {
    case DType::kFloat32:
    case DType::kBFloat16: return {bits(0x1p-126), 0};
    case DType::kFloat16: return {bits(0x1p-14), 0};
    case DType::kFloat8E4M3: return {bits(0x1p-6), bits(448)};
    case DType::kFloat8E5M2: return {bits(0x1p-14), bits(57344)};
    default: NANHUNT_CHECK(false && "not a type of up to 32 floating bits");
  }
}

Accumulator::Accumulator() {
  min.fill(std::numeric_limits<float>::infinity());
  max.fill(-std::numeric_limits<float>::infinity());
  wide_min.fill(std::numeric_limits<double>::infinity());
  wide_max.fill(-std::numeric_limits<double>::infinity());
}

void Accumulator::add_non_finite(uint64_t logical_index, double value) {
  mask_digest += mask_word(logical_index);
  if (std::isnan(value)) {
    ++nan;
  } else if (value > 0) {
    ++pos_inf;
  } else {
    ++neg_inf;
  }
}

Statistics fold(const Accumulator& sums, RegionPrint* region) {
  Statistics result;
  result.count = sums.count;
  result.nan = sums.nan;
  result.pos_inf = sums.pos_inf;
  result.neg_inf = sums.neg_inf;
  result.zero = sums.zero;
  result.subnormal = sums.subnormal;
  result.saturated = sums.saturated;
  result.min = std::min<double>(*std::min_element(sums.min.begin(), sums.min.end()),
                                *std::min_element(sums.wide_min.begin(), sums.wide_min.end()));
  result.max = std::max<double>(*std::max_element(sums.max.begin(), sums.max.end()),
                                *std::max_element(sums.wide_max.begin(), sums.wide_max.end()));
  for (double part : sums.sum) result.sum += part;
  for (double part : sums.sum_squares) result.sum_squares += part;
  if (region == nullptr) return result;
  region->value_digest = 0;
  for (uint64_t part : sums.digest) region->value_digest += part;
  region->mask_digest = sums.mask_digest;
  region->sum_squares = result.sum_squares;
  region->sketch.fill(0);
  for (const auto& set : sums.sketch) {
    for (int j = 0; j < 2 * kBlock; ++j) region->sketch[j % kSketchBuckets] += set[j];
  }
  return result;
}

}  // namespace nanhunt::trace
