// SPDX-License-Identifier: Apache-2.0
// The values of a record as FP64, a block at a time from front to back: bytes are read ahead in
// larger pieces and widened when a block is asked for, so that FP64 never leaves the cache. FP8
// codes are divided by the scale of their record, as in Tensor.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "trace/read_buffer.h"
#include "trace/trace_reader.h"

namespace nanhunt::oracle {

// Elements of a block: some arrays of it in FP64 fit the first-level cache together.
constexpr int64_t kBlockElements = 512;
// One in FP64. Vectors do not straddle cache lines, and the room behind it keeps several of them
// from being a page apart: what is stored would then be taken for what is loaded next.
struct alignas(64) Block {
  std::array<double, kBlockElements + 24> values;

  double* data() { return values.data(); }
  double& operator[](size_t i) { return values[i]; }
  std::span<const double> first(size_t count) const { return std::span(values).first(count); }
};

class ValueStream {
 public:
  // Both outlive the stream.
  ValueStream(const trace::TraceReader& reader, const trace::Record& record);

  // Elements [begin, begin + count), at most kBlockElements. Errors as TraceReader::read_values.
  void read(int64_t begin, int64_t count, double* out);

  // What a stream takes at most.
  static constexpr int64_t kBytes = int64_t{1} << 17;

 private:
  const trace::TraceReader& reader_;
  const trace::Record& record_;
  int64_t all_, size_;  // elements of the record, bytes of one
  double scale_ = 1;
  int64_t first_ = 0, count_ = 0;  // elements in the buffer
  trace::ReadBuffer buffer_;
};

}  // namespace nanhunt::oracle
