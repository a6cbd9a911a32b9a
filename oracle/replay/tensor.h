// SPDX-License-Identifier: Apache-2.0
// Captured values as a replay works on them: FP64, row-major in local order, with the names of the
// dimensions. FP8 codes are divided by the scale that their record names, so that a replay sees the
// values that the op saw.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trace/trace_reader.h"

namespace nanhunt::oracle {

struct Tensor {
  std::vector<int64_t> shape;
  std::vector<std::string> axes;  // by dimension: "token", "sample", "channel"; "" = not known
  std::vector<double> values;

  int64_t size() const { return static_cast<int64_t>(values.size()); }
  int64_t columns() const { return shape.empty() ? 1 : shape.back(); }
  int64_t rows() const { return columns() == 0 ? 0 : size() / columns(); }
};

// Indices [begin, end) of the first dimension.
struct Slice {
  int64_t begin, end;
};

// All values of a record that has them, or those of a slice. Errors as TraceReader::read_values.
Tensor read_tensor(const trace::TraceReader& reader, const trace::Record& record);
Tensor read_tensor(const trace::TraceReader& reader, const trace::Record& record, Slice slice);
// The same into `tensor`, whose memory is used again: for one slice after another.
void read_tensor(const trace::TraceReader& reader, const trace::Record& record, Slice slice,
                 Tensor& tensor);
// All of a record.
Slice whole_of(const trace::Record& record);
int64_t elements_of(const trace::Record& record);
// How many elements one index of the first dimension has; all for a scalar.
int64_t elements_of_row(const trace::Record& record);

// The names of a record's local dimensions, as Tensor has them.
std::vector<std::string> axes_of(const trace::Record& record);

// Whether two records hold the same elements in the same order, so that element i of one belongs to
// element i of the other.
bool lie_alike(const trace::Record& a, const trace::Record& b);

// Where a record's part of a logical dimension starts ("vocabulary", or dimension 0 of a table);
// 0 where the placement cuts nothing. Only for records of one region.
int64_t logical_start(const trace::Record& record, size_t logical_dimension);

// Dimensions of `tensor` in the order of `axes`, as far as both know the names: [token, sample,
// channel] for [sample, token, channel]. Dimensions without a counterpart keep their order, so a
// last dimension of another meaning stays last. Unknown names: as it is.
// `room` holds what had to be moved; the result refers to it, or to `tensor`.
const Tensor& in_order_of(const Tensor& tensor, const std::vector<std::string>& axes, Tensor& room);
Tensor in_order_of(Tensor tensor, const std::vector<std::string>& axes);
// Which element of a tensor of that shape, dimensions `names`, becomes element `element` of it in
// the order of `axes`; nullopt beyond its end.
std::optional<int64_t> element_before_order(std::vector<int64_t> shape,
                                            std::vector<std::string> names,
                                            const std::vector<std::string>& axes, size_t element);

}  // namespace nanhunt::oracle
