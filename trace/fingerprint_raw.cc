// SPDX-License-Identifier: Apache-2.0
#include "trace/fingerprint_raw.h"

#if defined(__x86_64__)
#include <xxh_x86dispatch.h>  // the same digest with the widest vectors of this machine
#endif

#include <algorithm>
#include <cstring>
#include <string>

#include "trace/check.h"
#include "trace/error.h"
#include "trace/fingerprint_plan.h"

namespace nanhunt::trace {
namespace {

constexpr size_t kPieceBytes = 32 * 1024;

template <class T>
void gather_as(const void* base, int64_t offset, int64_t count, int64_t stride, void* out) {
  const char* from = static_cast<const char*>(base) + offset * static_cast<int64_t>(sizeof(T));
  char* to = static_cast<char*>(out);
  const int64_t step = stride * static_cast<int64_t>(sizeof(T));
  for (int64_t i = 0; i < count; ++i, from += step, to += sizeof(T)) {
    std::memcpy(to, from, sizeof(T));
  }
}

}  // namespace

void gather(const void* base, size_t element_size, int64_t offset, int64_t count, int64_t stride,
            void* out) {
  switch (element_size) {
    case 1:
      return gather_as<uint8_t>(base, offset, count, stride, out);
    case 2:
      return gather_as<uint16_t>(base, offset, count, stride, out);
    case 4:
      return gather_as<uint32_t>(base, offset, count, stride, out);
    case 8:
      return gather_as<uint64_t>(base, offset, count, stride, out);
    default:
      NANHUNT_CHECK(false && "element size");
  }
}

std::vector<std::byte> pack(const TensorView& tensor) {
  const size_t size = size_of(tensor.dtype);
  std::vector<std::byte> packed(static_cast<size_t>(tensor.numel()) * size);
  for_each_run(walk_all(tensor), [&](int64_t local, int64_t at, int64_t length, int64_t stride) {
    gather(tensor.data, size, local, length, stride,
           packed.data() + static_cast<size_t>(at) * size);
  });
  return packed;
}

RawStream::RawStream(const TensorView& tensor)
    : tensor_(tensor),
      contiguous_(tensor.contiguous()),
      element_size_(size_of(tensor.dtype)),
      total_(static_cast<size_t>(tensor.numel()) * element_size_) {
  XXH3_64bits_reset(&state_);
}

void RawStream::update(const void* bytes, size_t size) {
  if (size != 0) XXH3_64bits_update(&state_, bytes, size);
}

void RawStream::cover(int64_t end_element) {
  if (!contiguous_) return;
  size_t end = static_cast<size_t>(end_element) * element_size_;
  if (end <= done_) return;
  end = std::min(total_, std::max(end, done_ + kPieceBytes));
  update(static_cast<const char*>(tensor_.data) + done_, end - done_);
  done_ = end;
}

uint64_t RawStream::finish() {
  if (contiguous_) {
    cover(tensor_.numel());
    return XXH3_64bits_digest(&state_);
  }
  std::vector<std::byte> piece(kPieceBytes);
  const auto per_piece = static_cast<int64_t>(kPieceBytes / element_size_);
  for_each_run(walk_all(tensor_), [&](int64_t local, int64_t, int64_t length, int64_t stride) {
    for (int64_t done = 0; done < length; done += per_piece) {
      const int64_t count = std::min(per_piece, length - done);
      gather(tensor_.data, element_size_, local + done * stride, count, stride, piece.data());
      update(piece.data(), static_cast<size_t>(count) * element_size_);
    }
  });
  return XXH3_64bits_digest(&state_);
}

uint64_t raw_digest(const TensorView& tensor) { return RawStream(tensor).finish(); }

std::vector<uint64_t> segment_digests(const TensorView& tensor, int segments, int dim) {
  if (segments <= 0) return {};
  const auto rank = static_cast<int>(tensor.shape.size());
  if (dim < 0 || dim >= rank || tensor.shape[dim] % segments != 0) {
    throw Error(ErrorKind::kUsage, "cannot cut dimension " + std::to_string(dim) +
                                       " of a tensor of " + std::to_string(rank) +
                                       " dimensions into " + std::to_string(segments) +
                                       " equal segments");
  }
  TensorView segment = tensor;
  segment.shape[dim] /= segments;
  const int64_t step =
      segment.shape[dim] * tensor.strides[dim] * static_cast<int64_t>(size_of(tensor.dtype));
  std::vector<uint64_t> digests;
  for (int k = 0; k < segments; ++k) {
    segment.data = static_cast<const char*>(tensor.data) + k * step;
    digests.push_back(raw_digest(segment));
  }
  return digests;
}

}  // namespace nanhunt::trace
