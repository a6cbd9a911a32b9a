// SPDX-License-Identifier: Apache-2.0
// What the plain GPT computes with: a shape, FP32 values in row-major order, and the sequence
// numbers of the records that the values were computed from. Sums run in FP64, in index order, and
// are rounded to FP32 once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "trace/dtype.h"

namespace nanhunt::plain {

struct Tensor {
  std::vector<int64_t> shape;
  std::vector<float> values;
  std::vector<int64_t> records;

  float& operator[](size_t i) { return values[i]; }
  float operator[](size_t i) const { return values[i]; }
  size_t size() const { return values.size(); }
  // The last dimension, and how many rows of that size there are.
  size_t channels() const { return static_cast<size_t>(shape.back()); }
  size_t rows() const { return size() / channels(); }
};

Tensor zeros(std::vector<int64_t> shape);
Tensor add(const Tensor& a, const Tensor& b);  // equal shapes

// Rounds to nearest even to the values of fp32, bf16 or fp16.
void round_to(Tensor& tensor, trace::DType dtype);

}  // namespace nanhunt::plain
