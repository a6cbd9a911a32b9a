// SPDX-License-Identifier: Apache-2.0
// Values of a logical tensor, window by window. Only what the window needs is read; memory is the
// window and kReadElements.
#include <algorithm>

#include "oracle/logical.h"
#include "trace/dtype.h"
#include "trace/region_runs.h"

namespace nanhunt::oracle {
namespace {

using trace::Run;

constexpr int64_t kReadElements = int64_t{1} << 14;  // of a record, at a time
// A gap that is read over: cheaper than one more read.
constexpr int64_t kGapElements = 1024;

struct Buffers {
  std::vector<std::byte>& bytes;
  std::vector<double>& values;
};

// Adds elements of one record to the window. Runs come with local starts ascending.
class Reading {
 public:
  Reading(const trace::TraceReader& reader, const trace::Record& record, int64_t begin,
          std::vector<double>& window, const Buffers& buffers)
      : reader_(reader),
        record_(record),
        begin_(begin),
        window_(window),
        bytes_(buffers.bytes),
        values_(buffers.values) {}

  void add(Run run) {
    while (run.length > 0) {
      const int64_t room = first_ + kReadElements - run.local;
      if (!runs_.empty() && (room <= 0 || run.local > next_ + kGapElements)) {
        flush();
        continue;
      }
      if (runs_.empty()) first_ = run.local;
      const int64_t take = std::min(run.length, first_ + kReadElements - run.local);
      runs_.push_back({run.local, run.logical, run.stride, take});
      next_ = run.local + take;
      run = {run.local + take, run.logical + take * run.stride, run.stride, run.length - take};
    }
  }

  void flush() {
    if (runs_.empty()) return;
    const int64_t count = next_ - first_;
    bytes_.resize(static_cast<size_t>(count) * trace::size_of(record_.storage));
    reader_.read_values(record_, first_, count, bytes_);
    values_.resize(static_cast<size_t>(count));
    trace::widen_to_double(bytes_.data(), record_.storage, values_.size(), values_.data());
    for (const Run& run : runs_) {
      const double* from = values_.data() + (run.local - first_);
      double* to = window_.data() + (run.logical - begin_);
      if (run.stride == 1) {
        for (int64_t i = 0; i < run.length; ++i) to[i] += from[i];
      } else {
        for (int64_t i = 0; i < run.length; ++i) to[i * run.stride] += from[i];
      }
    }
    runs_.clear();
  }

 private:
  const trace::TraceReader& reader_;
  const trace::Record& record_;
  int64_t begin_;
  std::vector<double>& window_;
  int64_t first_ = 0, next_ = 0;  // local elements that runs_ covers
  std::vector<Run> runs_;
  std::vector<std::byte>& bytes_;
  std::vector<double>& values_;
};

}  // namespace

const std::vector<double>& LogicalRows::read(int64_t first_row, int64_t rows) {
  const int64_t row_length = logical_.shape.empty() ? 1 : logical_.shape.back();
  const int64_t begin = first_row * row_length, end = begin + rows * row_length;
  window_.assign(static_cast<size_t>(end - begin), 0.0);
  for (const Piece& piece : logical_.pieces) {
    const trace::Record& record = step_.records[static_cast<size_t>(piece.record)];
    const auto& region = record.placement->regions[static_cast<size_t>(piece.region)];
    Reading reading(reader_, record, begin, window_, {bytes_, values_});
    trace::for_each_run(*record.placement, record.local_shape, region, begin, end,
                        [&](const Run& run) { reading.add(run); });
    reading.flush();
  }
  if (logical_.divisor != 1) {
    for (double& value : window_) value /= logical_.divisor;
  }
  return window_;
}

std::vector<double> logical_values(const trace::Step& step, const trace::TraceReader& reader,
                                   const Logical& logical, int64_t first_row, int64_t rows) {
  return LogicalRows(step, reader, logical).read(first_row, rows);
}

}  // namespace nanhunt::oracle
