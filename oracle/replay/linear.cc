// SPDX-License-Identifier: Apache-2.0
// linear: y = x W^T + b, of whole or sharded operands; a row-parallel one is a partial sum, and its
// bias is added behind the reduction.
//   dx = g W,  dW = g^T x,  db = sum of g over the rows
// Each element is a sum of K products: K roundings, one for the bias, two for dequantised operands.
#include "oracle/replay/matrix.h"
#include "oracle/replay/ops.h"
#include "trace/large_array.h"

namespace nanhunt::oracle {
namespace {

Recomputed multiplied(const Matrix& a, const Matrix& b) {
  Recomputed result;
  result.values = product(a, b);
  const auto rows = row_norms(a), columns = column_norms(b);
  trace::resize_for_overwrite(result.magnitudes, result.values.size());
  double* at = result.magnitudes.data();
  for (const double row : rows) {
    for (const double column : columns) *at++ = row * column;
  }
  result.roundings = static_cast<double>(a.width()) + 2;
  return result;
}

Matrix rows_of(const Tensor& tensor) {
  return {tensor.values, tensor.rows(), tensor.columns()};
}

std::optional<Recomputed> forward(Call& call) {
  const auto axes = axes_of(call.target());
  const Tensor* weight = call.parameter("weight");
  const Tensor* bias = call.parameter("bias");
  const Tensor* input = call.activation();
  if (input == nullptr) return std::nullopt;
  Tensor room;
  const Tensor& x = in_order_of(*input, axes, room);
  if (!same_rows(x.shape, call.target().local_shape)) return std::nullopt;
  Recomputed result;
  if (weight != nullptr) {
    if (weight->shape.size() != 2 || x.columns() != weight->shape[1]) return std::nullopt;
    result = multiplied(rows_of(x), transposed(rows_of(*weight)));
  } else {
    result = exactly(x.values);
  }
  if (bias != nullptr && !add_to_rows(result, bias->values)) return std::nullopt;
  return result;
}

std::optional<Recomputed> backward(Call& call, const Tensor& gradient) {
  const std::string name = parameter_name(call.target());
  if (name == "bias") return sum_of_rows(gradient);
  if (name == "weight") {
    const Tensor* input = call.activation();
    if (input == nullptr) return std::nullopt;
    Tensor room;
    const Tensor& x = in_order_of(*input, gradient.axes, room);
    if (!same_rows(x.shape, gradient.shape)) return std::nullopt;
    return multiplied(transposed(rows_of(gradient)), rows_of(x));
  }
  const Tensor* weight = call.parameter("weight");
  if (weight == nullptr || weight->shape.size() != 2) return std::nullopt;
  Tensor room;
  const Tensor& g = in_order_of(gradient, axes_of(call.target()), room);
  if (g.columns() != weight->shape[0] || !same_rows(g.shape, call.target().local_shape))
    return std::nullopt;
  return multiplied(rows_of(g), rows_of(*weight));
}

// Row `row` of a times column `column` of b.
std::vector<Product> products_of(const Matrix& a, const Matrix& b, int64_t row, int64_t column) {
  std::vector<Product> products;
  for (int64_t k = 0; k < a.width(); ++k) products.push_back({a.at(row, k), b.at(k, column)});
  return products;
}

Intermediates on_the_way(Call& call, size_t element) {
  const Tensor* weight = call.parameter("weight");
  const Tensor* bias = call.parameter("bias");
  const Tensor* input = call.activation();
  if (weight == nullptr || weight->shape.size() != 2 || input == nullptr) return {};
  const Tensor x = in_order_of(*input, axes_of(call.target()));
  const int64_t width = weight->shape[0], row = static_cast<int64_t>(element) / width,
                column = static_cast<int64_t>(element) % width;
  if (x.columns() != weight->shape[1] || row >= x.rows()) return {};
  Intermediates formed;
  auto products = products_of(rows_of(x), transposed(rows_of(*weight)), row, column);
  if (bias != nullptr && bias->size() == width)
    products.push_back({1, bias->values[static_cast<size_t>(column)]});
  add_products(formed, products);
  return formed;
}

Intermediates on_the_way_back(Call& call, const Tensor& gradient, size_t element) {
  const std::string name = parameter_name(call.target());
  Intermediates formed;
  const auto add = [&](const Matrix& a, const Matrix& b) {
    const int64_t row = static_cast<int64_t>(element) / b.width(),
                  column = static_cast<int64_t>(element) % b.width();
    if (a.width() == b.height() && row < a.height())
      add_products(formed, products_of(a, b, row, column));
  };
  if (name == "bias") {
    add_column(formed, gradient, element);
  } else if (name == "weight") {
    const Tensor* input = call.activation();
    if (input == nullptr) return {};
    const Tensor x = in_order_of(*input, gradient.axes);
    add(transposed(rows_of(gradient)), rows_of(x));
  } else if (const Tensor* weight = call.parameter("weight")) {
    const Tensor g = in_order_of(gradient, axes_of(call.target()));
    add(rows_of(g), rows_of(*weight));
  }
  return formed;
}

}  // namespace

Replay linear() {
  return {{"linear"}, forward, backward, on_the_way, on_the_way_back, BySlices::kLarge};
}

}  // namespace nanhunt::oracle
