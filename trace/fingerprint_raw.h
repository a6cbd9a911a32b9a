// SPDX-License-Identifier: Apache-2.0
// Inside of fingerprint.h: the raw digest, XXH3 (64 bits, seed 0) of the tensor packed in local
// row-major order, padding included. It is a digest of bytes, so strides and shape play no part.
#pragma once

#define XXH_STATIC_LINKING_ONLY
#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "trace/fingerprint.h"

namespace nanhunt::trace {

// Copies `count` elements that are `stride` elements apart, from element `offset` of `base` on.
void gather(const void* base, size_t element_size, int64_t offset, int64_t count, int64_t stride,
            void* out);
std::vector<std::byte> pack(const TensorView& tensor);

// Hashes a contiguous tensor piece by piece, just ahead of the pass that reads the same pieces, so
// that memory is read once. Any other tensor is gathered in finish().
class RawStream {
 public:
  explicit RawStream(const TensorView& tensor);
  // The pass is about to read up to this element.
  void cover(int64_t end_element);
  uint64_t finish();

 private:
  void update(const void* bytes, size_t size);

  const TensorView& tensor_;
  bool contiguous_;
  size_t element_size_;
  size_t total_;
  size_t done_ = 0;
  XXH3_state_t state_;
};

uint64_t raw_digest(const TensorView& tensor);
// One digest for each of `segments` equal parts along `dim`. Throws Error when it cannot be cut so.
std::vector<uint64_t> segment_digests(const TensorView& tensor, int segments, int dim);

}  // namespace nanhunt::trace
