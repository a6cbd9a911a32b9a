// SPDX-License-Identifier: Apache-2.0
#include "hooks/pack_values.h"

#include <cstring>

namespace nanhunt::hooks {
namespace {

struct Packer {
  const trace::TensorView& tensor;
  size_t element;
  std::byte* out;

  void pack(size_t dim, const std::byte* from) {
    const int64_t extent = tensor.shape[dim];
    const int64_t step = tensor.strides[dim] * static_cast<int64_t>(element);
    if (dim + 1 < tensor.shape.size()) {
      for (int64_t i = 0; i < extent; ++i) pack(dim + 1, from + i * step);
    } else if (tensor.strides[dim] == 1) {
      std::memcpy(out, from, extent * element);
      out += extent * element;
    } else {
      for (int64_t i = 0; i < extent; ++i, out += element)
        std::memcpy(out, from + i * step, element);
    }
  }
};

}  // namespace

int64_t packed_bytes(const trace::TensorView& tensor) {
  return tensor.numel() * static_cast<int64_t>(trace::size_of(tensor.dtype));
}

std::vector<std::byte> pack_values(const trace::TensorView& tensor) {
  const auto* data = static_cast<const std::byte*>(tensor.data);
  if (tensor.contiguous() || tensor.shape.empty())
    return {data, data + packed_bytes(tensor)};
  std::vector<std::byte> packed(packed_bytes(tensor));
  if (!packed.empty()) Packer{tensor, trace::size_of(tensor.dtype), packed.data()}.pack(0, data);
  return packed;
}

}  // namespace nanhunt::hooks
