// SPDX-License-Identifier: Apache-2.0
// What one pass over the data of a tensor tells, and the second looks that a finding needs. Both
// read in windows.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "checkpoint/safetensors.h"
#include "trace/statistics.h"

namespace nanhunt::checkpoint {

struct TensorFacts {
  // Over elements of the type's view (element_type.h); of coded types its bytes.
  trace::Statistics statistics;
  uint64_t nan_codes = 0;  // of coded types
  uint64_t digest = 0;     // of the bytes: equal tensors have equal ones

  bool all_zero(const ElementType& type) const;
  // Every element has the same value (-0 equals 0), and it is finite.
  bool constant(const ElementType& type) const;
  uint64_t non_finite() const { return statistics.non_finite() + nan_codes; }
};

TensorFacts examine(const TensorData& data, const TensorEntry& tensor);

struct Element {
  int64_t index = 0;
  Number number;
};
using ElementTest = std::function<bool(const ElementType& type, const void* data, int64_t index)>;
// The elements that pass the test: the first, and how many when `count_all`.
struct Selected {
  int64_t count = 0;
  std::optional<Element> first;
};
Selected select(const TensorData& data, const TensorEntry& tensor, const ElementTest& test,
                bool count_all);

// Elements whose bits differ between two tensors of one type and shape: how many, and the first.
struct Difference {
  int64_t count = 0;
  int64_t first = 0;
  Number left, right;  // there
};
Difference difference(const TensorData& left_data, const TensorEntry& left,
                      const TensorData& right_data, const TensorEntry& right);

}  // namespace nanhunt::checkpoint
