// SPDX-License-Identifier: Apache-2.0
#include "compare/region_cells.h"

#include <algorithm>

namespace nanhunt::compare {
namespace {

constexpr int64_t kWindowElements = int64_t{1} << 20;

std::vector<int64_t> strides_of(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

}  // namespace

void for_each_cell(const trace::Record& record, int region,
                   const std::function<void(int64_t, int64_t)>& visit) {
  const trace::Placement& placement = *record.placement;
  const trace::Region& box = placement.regions[static_cast<size_t>(region)];
  if (box.extent.empty()) return visit(0, 0);
  if (placement.flat) {
    for (int64_t i = 0; i < box.extent[0]; ++i) {
      visit(box.logical_start[0] + i, box.local_start[0] + i);
    }
    return;
  }
  const size_t rank = box.extent.size();
  const auto logical_stride = strides_of(placement.logical_shape);
  const auto local_stride = strides_of(record.local_shape);
  int64_t logical = 0, local = 0;
  std::vector<int64_t> step(rank, 0);  // local stride of each logical dimension
  for (size_t d = 0; d < rank; ++d) {
    logical += box.logical_start[d] * logical_stride[d];
    local += box.local_start[d] * local_stride[d];
    step[static_cast<size_t>(placement.to_logical[d])] = local_stride[d];
  }
  if (std::ranges::find(box.extent, 0) != box.extent.end()) return;
  std::vector<int64_t> position(rank, 0);
  while (true) {
    visit(logical, local);
    size_t d = rank;
    while (d > 0) {
      --d;
      logical += logical_stride[d];
      local += step[d];
      if (++position[d] < box.extent[d]) break;
      logical -= box.extent[d] * logical_stride[d];
      local -= box.extent[d] * step[d];
      position[d] = 0;
      if (d == 0) return;
    }
  }
}

bool has_values(const SideStep& side, const oracle::Logical& logical) {
  if (side.source->reader == nullptr || !logical.complete) return false;
  return std::ranges::all_of(logical.pieces, [&](const oracle::Piece& piece) {
    return side.record(piece.record).has_values;
  });
}

LogicalWindow::LogicalWindow(const SideStep& side, const oracle::Logical& logical)
    : side_(side), logical_(logical) {
  if (!logical.shape.empty()) row_length_ = std::max<int64_t>(1, logical.shape.back());
  rows_ = static_cast<int64_t>(logical.count) / row_length_;
}

void LogicalWindow::load(int64_t row) {
  first_row_ = row;
  loaded_rows_ = std::clamp<int64_t>(kWindowElements / row_length_, 1, rows_ - row);
  values_ = oracle::logical_values(*side_.step, *side_.source->reader, logical_, first_row_,
                                   loaded_rows_);
}

double LogicalWindow::at(int64_t flat_index) {
  const int64_t row = flat_index / row_length_;
  if (row < first_row_ || row >= first_row_ + loaded_rows_) load(row);
  return values_[static_cast<size_t>(flat_index - first_row_ * row_length_)];
}

}  // namespace nanhunt::compare
