// SPDX-License-Identifier: Apache-2.0
// embedding: y = rows of the table at the ids. A rank that holds a part of the vocabulary gives 0
// for the ids of the others; without ids the table is one of positions, a row for each token.
//   dtable[id] += g, but for the id that the attribute `padding_idx` names
#include <algorithm>
#include <cmath>

#include "oracle/replay/ops.h"

namespace nanhunt::oracle {
namespace {

// Row of the table for each row of the activation, -1 where another rank has it.
std::optional<std::vector<int64_t>> table_rows(Call& call, const trace::Record& table,
                                               const std::vector<std::string>& axes, int64_t rows) {
  std::vector<int64_t> found;
  const int64_t held = table.local_shape.empty() ? 0 : table.local_shape.front();
  const int64_t first = logical_start(table, 0);
  if (const Tensor* ids = call.indices()) {
    const Tensor aligned = in_order_of(*ids, axes);
    if (aligned.size() != rows) return std::nullopt;
    for (const double id : aligned.values) {
      const int64_t row = static_cast<int64_t>(id) - first;
      found.push_back(row >= 0 && row < held ? row : -1);
    }
    return found;
  }
  const auto token = std::ranges::find(axes, "token");
  if (token != axes.begin() || axes.size() != 3) return std::nullopt;  // [token, sample, channel]
  const auto& shape = call.target().local_shape;
  const int64_t samples = shape.size() == 3 ? shape[1] : 1;
  const int64_t start = logical_start(call.target(), 1);
  for (int64_t row = 0; row < rows; ++row) {
    found.push_back(start + row / samples);
    if (found.back() >= held) return std::nullopt;
  }
  return found;
}

std::optional<Recomputed> forward(Call& call) {
  const auto axes = axes_of(call.target());
  const trace::Record* record = call.parameter_record("weight");
  if (record == nullptr) {  // behind the reduction
    const Tensor* rows = call.activation();
    if (rows == nullptr) return std::nullopt;
    auto aligned = shaped_like_target(call, *rows);
    if (!aligned) return std::nullopt;
    return exactly(std::move(aligned->values));
  }
  const Tensor& table = *call.parameter("weight");
  const int64_t width = table.columns();
  const auto& shape = call.target().local_shape;
  if (shape.empty() || shape.back() != width) return std::nullopt;
  int64_t rows = 1;
  for (size_t d = 0; d + 1 < shape.size(); ++d) rows *= shape[d];
  const auto from = table_rows(call, *record, axes, rows);
  if (!from) return std::nullopt;
  std::vector<double> values;
  for (const int64_t row : *from) {
    for (int64_t c = 0; c < width; ++c)
      values.push_back(row < 0 ? 0.0 : table.values[static_cast<size_t>(row * width + c)]);
  }
  return exactly(std::move(values));
}

// Row of the table that each row of the gradient is added to, -1 where to none of this rank.
std::optional<std::vector<int64_t>> rows_added_to(Call& call, const Tensor& gradient) {
  const auto& shape = call.target().local_shape;
  if (parameter_name(call.target()) != "weight" || shape.size() != 2 || call.indices() == nullptr ||
      shape[1] != gradient.columns()) {
    return std::nullopt;
  }
  auto rows = table_rows(call, call.target(), gradient.axes, gradient.rows());
  if (!rows) return std::nullopt;
  if (const auto padding = call.attribute("padding_idx"))
    std::ranges::replace(*rows, static_cast<int64_t>(*padding) - logical_start(call.target(), 0),
                         int64_t{-1});
  return rows;
}

std::optional<Recomputed> backward(Call& call, const Tensor& gradient) {
  const auto rows = rows_added_to(call, gradient);
  if (!rows) return std::nullopt;
  const auto& shape = call.target().local_shape;
  const auto size = static_cast<size_t>(shape[0] * shape[1]);
  Recomputed result{std::vector<double>(size), std::vector<double>(size), 0};
  std::vector<double> terms(static_cast<size_t>(shape[0]));
  for (size_t i = 0; i < rows->size(); ++i) {
    if ((*rows)[i] < 0) continue;
    const auto row = static_cast<size_t>((*rows)[i]);
    result.roundings = std::max(result.roundings, ++terms[row]);
    for (size_t c = 0; c < static_cast<size_t>(shape[1]); ++c) {
      const double g = gradient.values[i * static_cast<size_t>(shape[1]) + c];
      result.values[row * static_cast<size_t>(shape[1]) + c] += g;
      result.magnitudes[row * static_cast<size_t>(shape[1]) + c] += std::abs(g);
    }
  }
  return result;
}

// The sum over the tokens that hit the element's row.
Intermediates on_the_way_back(Call& call, const Tensor& gradient, size_t element) {
  const auto rows = rows_added_to(call, gradient);
  if (!rows) return {};
  const auto width = static_cast<size_t>(gradient.columns());
  std::vector<double> terms;
  for (size_t i = 0; i < rows->size(); ++i) {
    if ((*rows)[i] == static_cast<int64_t>(element / width))
      terms.push_back(gradient.values[i * width + element % width]);
  }
  Intermediates formed;
  add_terms(formed, terms);
  return formed;
}

}  // namespace

Replay embedding() {
  return {{"embedding"}, forward, backward, nullptr, on_the_way_back};
}

}  // namespace nanhunt::oracle
