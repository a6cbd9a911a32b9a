// SPDX-License-Identifier: Apache-2.0
#include "oracle/replay/value_stream.h"

#include <algorithm>

#include "oracle/replay/tensor.h"
#include "oracle/rules/rule_tools.h"

namespace nanhunt::oracle {

ValueStream::ValueStream(const trace::TraceReader& reader, const trace::Record& record)
    : reader_(reader),
      record_(record),
      all_(elements_of(record)),
      size_(static_cast<int64_t>(trace::size_of(record.storage))),
      buffer_(static_cast<size_t>(std::min(kBytes, all_ * size_))) {
  if (trace::is_fp8(record.storage)) scale_ = attribute(record, "scale").value_or(1);
}

void ValueStream::read(int64_t begin, int64_t count, double* out) {
  if (count == 0) return;
  if (begin < first_ || begin + count > first_ + count_) {
    first_ = begin;
    count_ = std::min(all_ - begin, kBytes / size_);
    reader_.read_values(record_, first_, count_,
                        buffer_.first(static_cast<size_t>(count_ * size_)));
  }
  trace::widen_to_double(buffer_.data() + (begin - first_) * size_, record_.storage,
                         static_cast<size_t>(count), out);
  if (scale_ != 1) std::for_each_n(out, count, [this](double& value) { value /= scale_; });
}

}  // namespace nanhunt::oracle
