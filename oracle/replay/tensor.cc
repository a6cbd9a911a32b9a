// SPDX-License-Identifier: Apache-2.0
#include "oracle/replay/tensor.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "oracle/rules/rule_tools.h"

namespace nanhunt::oracle {
namespace {

// order[d] = dimension of `tensor` that becomes dimension d.
std::vector<size_t> order_for(const std::vector<std::string>& have,
                              const std::vector<std::string>& want) {
  std::vector<size_t> order, slots;
  std::vector<size_t> named;  // dimensions of `have` that `want` names, in its order
  for (const auto& name : want) {
    const auto found = std::ranges::find(have, name);
    if (!name.empty() && found != have.end())
      named.push_back(static_cast<size_t>(found - have.begin()));
  }
  for (size_t d = 0; d < have.size(); ++d) order.push_back(d);
  for (size_t d = 0; d < have.size(); ++d) {
    if (std::ranges::find(named, d) != named.end()) slots.push_back(d);
  }
  for (size_t i = 0; i < slots.size(); ++i) order[slots[i]] = named[i];
  return order;
}

std::vector<int64_t> strides_of(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

}  // namespace

std::vector<std::string> axes_of(const trace::Record& record) {
  std::vector<std::string> axes(record.local_shape.size());
  if (!record.placement || record.placement->flat) return axes;
  const auto& placement = *record.placement;
  for (size_t d = 0; d < axes.size() && d < placement.to_logical.size(); ++d) {
    const auto logical = static_cast<size_t>(placement.to_logical[d]);
    if (logical < placement.axes.size()) axes[d] = placement.axes[logical];
  }
  return axes;
}

bool lie_alike(const trace::Record& a, const trace::Record& b) {
  return a.local_shape == b.local_shape &&
         std::ranges::is_sorted(order_for(axes_of(a), axes_of(b)));
}

int64_t logical_start(const trace::Record& record, size_t logical_dimension) {
  if (!record.placement || record.placement->regions.size() != 1) return 0;
  const auto& start = record.placement->regions.front().logical_start;
  return logical_dimension < start.size() ? start[logical_dimension] : 0;
}

int64_t elements_of(const trace::Record& record) {
  return elements_of_row(record) * (record.local_shape.empty() ? 1 : record.local_shape.front());
}

int64_t elements_of_row(const trace::Record& record) {
  int64_t count = 1;
  for (size_t d = 1; d < record.local_shape.size(); ++d) count *= record.local_shape[d];
  return count;
}

Slice whole_of(const trace::Record& record) {
  return {0, record.local_shape.empty() ? 1 : record.local_shape.front()};
}

Tensor read_tensor(const trace::TraceReader& reader, const trace::Record& record) {
  return read_tensor(reader, record, whole_of(record));
}

Tensor read_tensor(const trace::TraceReader& reader, const trace::Record& record, Slice slice) {
  Tensor tensor;
  read_tensor(reader, record, slice, tensor);
  return tensor;
}

void read_tensor(const trace::TraceReader& reader, const trace::Record& record, Slice slice,
                 Tensor& tensor) {
  const int64_t row = elements_of_row(record);
  reader.read_doubles(record, slice.begin * row, (slice.end - slice.begin) * row, tensor.values);
  tensor.shape = record.local_shape;
  tensor.axes = axes_of(record);
  if (!tensor.shape.empty()) tensor.shape.front() = slice.end - slice.begin;
  if (!trace::is_fp8(record.storage)) return;
  if (const auto scale = attribute(record, "scale")) {
    for (double& value : tensor.values) value /= *scale;
  }
}

const Tensor& in_order_of(const Tensor& tensor, const std::vector<std::string>& axes,
                          Tensor& moved) {
  const auto order = order_for(tensor.axes, axes);
  if (std::ranges::is_sorted(order)) return tensor;
  const auto strides = strides_of(tensor.shape);
  moved = {};
  for (const size_t d : order) {
    moved.shape.push_back(tensor.shape[d]);
    moved.axes.push_back(tensor.axes[d]);
  }
  moved.values.reserve(tensor.values.size());
  std::vector<int64_t> index(order.size(), 0);
  for (int64_t n = 0; n < tensor.size(); ++n) {
    int64_t source = 0;
    for (size_t d = 0; d < order.size(); ++d) source += index[d] * strides[order[d]];
    moved.values.push_back(tensor.values[static_cast<size_t>(source)]);
    for (size_t d = order.size(); d-- > 0;) {
      if (++index[d] < moved.shape[d]) break;
      index[d] = 0;
    }
  }
  return moved;
}

Tensor in_order_of(Tensor tensor, const std::vector<std::string>& axes) {
  Tensor room;
  const Tensor& ordered = in_order_of(tensor, axes, room);
  return &ordered == &room ? std::move(room) : std::move(tensor);
}

std::optional<int64_t> element_before_order(std::vector<int64_t> shape,
                                            std::vector<std::string> names,
                                            const std::vector<std::string>& axes, size_t element) {
  int64_t count = 1;
  for (const int64_t extent : shape) count *= extent;
  Tensor places{std::move(shape), std::move(names),
                std::vector<double>(static_cast<size_t>(count))};
  std::iota(places.values.begin(), places.values.end(), 0.0);
  const Tensor ordered = in_order_of(std::move(places), axes);
  if (element >= ordered.values.size()) return std::nullopt;
  return static_cast<int64_t>(ordered.values[element]);
}

}  // namespace nanhunt::oracle
