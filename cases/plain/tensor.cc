// SPDX-License-Identifier: Apache-2.0
#include "cases/plain/tensor.h"

#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <utility>

namespace nanhunt::plain {

Tensor zeros(std::vector<int64_t> shape) {
  size_t size = 1;
  for (const int64_t extent : shape) size *= static_cast<size_t>(extent);
  return {std::move(shape), std::vector<float>(size, 0.0f), {}};
}

Tensor add(const Tensor& a, const Tensor& b) {
  Tensor sum = a;
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += b[i];
  return sum;
}

void round_to(Tensor& tensor, trace::DType dtype) {
  for (float& value : tensor.values) {
    if (dtype == trace::DType::kBFloat16) value = static_cast<float>(c10::BFloat16(value));
    if (dtype == trace::DType::kFloat16) value = static_cast<float>(c10::Half(value));
  }
}

}  // namespace nanhunt::plain
