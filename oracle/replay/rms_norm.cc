// SPDX-License-Identifier: Apache-2.0
// rms_norm: y = x r w,  r = 1 / sqrt(mean(x^2) + eps)  (Zhang and Sennrich, Root Mean Square Layer
// Normalization, 2019). With n = x r:
//   dx = r (g w - n mean(g w n)),  dw = sum over rows of g n
// All terms of the mean are >= 0: K + 2 roundings move it, and y by half of that.
#include <cmath>

#include "oracle/replay/ops.h"

namespace nanhunt::oracle {
namespace {

struct Rows {
  Tensor x;
  std::vector<double> arguments;  // mean(x^2) + eps of each row
  std::vector<double> scale;      // r of each row
  std::vector<double> weight;
};

std::optional<Rows> rows_of(Call& call, const std::vector<std::string>& axes) {
  const Tensor* input = call.activation();
  const auto eps = call.attribute("eps");
  if (input == nullptr || !eps || input->columns() == 0) return std::nullopt;
  Rows rows{in_order_of(*input, axes), {}, {}, {}};
  const auto width = static_cast<size_t>(rows.x.columns());
  auto weight = weight_of_columns(call, width);
  if (!weight) return std::nullopt;
  rows.weight = std::move(*weight);
  for (size_t start = 0; start < rows.x.values.size(); start += width) {
    double squares = 0;
    for (size_t c = 0; c < width; ++c)
      squares += rows.x.values[start + c] * rows.x.values[start + c];
    rows.arguments.push_back(squares / static_cast<double>(width) + *eps);
    rows.scale.push_back(1 / std::sqrt(rows.arguments.back()));
  }
  return rows;
}

double roundings(const Rows& rows) {
  return static_cast<double>(rows.x.columns()) + 12;
}

std::optional<Recomputed> forward(Call& call) {
  const auto rows = rows_of(call, axes_of(call.target()));
  if (!rows || rows->x.shape != call.target().local_shape) return std::nullopt;
  const size_t width = rows->weight.size();
  std::vector<double> values(rows->x.values);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] *= rows->scale[i / width] * rows->weight[i % width];
  Recomputed result = exactly(std::move(values));
  result.roundings = roundings(*rows);
  return result;
}

Recomputed weight_gradient(const Rows& rows, const std::vector<double>& g) {
  const size_t width = rows.weight.size();
  Recomputed result{std::vector<double>(width), std::vector<double>(width),
                    roundings(rows) + static_cast<double>(rows.scale.size())};
  for (size_t i = 0; i < g.size(); ++i) {
    const double term = g[i] * rows.x.values[i] * rows.scale[i / width];
    result.values[i % width] += term;
    result.magnitudes[i % width] += std::abs(term);
  }
  return result;
}

Recomputed input_gradient(const Rows& rows, const std::vector<double>& g) {
  const size_t width = rows.weight.size();
  Recomputed result{{}, {}, 2 * roundings(rows)};
  result.values.reserve(g.size());
  result.magnitudes.reserve(g.size());
  for (size_t row = 0; row < rows.scale.size(); ++row) {
    const double r = rows.scale[row];
    double mean = 0, magnitude = 0;
    for (size_t c = 0; c < width; ++c) {
      const double term = g[row * width + c] * rows.weight[c] * rows.x.values[row * width + c] * r;
      mean += term / static_cast<double>(width);
      magnitude += std::abs(term) / static_cast<double>(width);
    }
    for (size_t c = 0; c < width; ++c) {
      const double direct = g[row * width + c] * rows.weight[c];
      const double n = rows.x.values[row * width + c] * r;
      result.values.push_back(r * (direct - n * mean));
      result.magnitudes.push_back(r * (std::abs(direct) + std::abs(n) * magnitude));
    }
  }
  return result;
}

std::optional<Recomputed> backward(Call& call, const Tensor& gradient) {
  const bool of_weight = parameter_name(call.target()) == "weight";
  const auto axes = of_weight ? gradient.axes : axes_of(call.target());
  const auto rows = rows_of(call, axes);
  if (!rows) return std::nullopt;
  const Tensor g = in_order_of(gradient, axes);
  if (g.shape != rows->x.shape) return std::nullopt;
  return of_weight ? weight_gradient(*rows, g.values) : input_gradient(*rows, g.values);
}

Intermediates on_the_way(Call& call, size_t element) {
  const auto row = row_of_element(call, element);
  const auto eps = call.attribute("eps");
  if (row.empty() || !eps) return {};
  Intermediates formed;
  double squares = 0;
  std::vector<Product> products;
  for (const double x : row) {
    products.push_back({x, x});
    squares += x * x;
  }
  add_products(formed, products);
  formed.push_back(
      {Formed::kRootArgument, "mean(x^2) + eps", squares / static_cast<double>(row.size()) + *eps});
  return formed;
}

Intermediates on_the_way_to_weight(Call& call, const Tensor& gradient, size_t column) {
  auto rows = rows_of(call, gradient.axes);
  if (!rows || gradient.shape != rows->x.shape) return {};
  auto& n = rows->x.values;
  for (size_t i = 0; i < n.size(); ++i) n[i] *= rows->scale[i / rows->weight.size()];
  Intermediates formed;
  add_weight_gradient(formed, "mean(x^2) + eps", rows->arguments, gradient, n, column);
  return formed;
}

// The scale is the one of forward, so the squares are not formed again.
Intermediates on_the_way_back(Call& call, const Tensor& gradient, size_t element) {
  const std::string name = parameter_name(call.target());
  if (name == "weight") return on_the_way_to_weight(call, gradient, element);
  if (!name.empty()) return {};
  auto row = row_of_element(call, element);
  const auto weight = weight_of_columns(call, row.size());
  const auto eps = call.attribute("eps");
  if (row.empty() || !weight || !eps) return {};
  double squares = 0;
  for (const double x : row) squares += x * x;
  const double argument = squares / static_cast<double>(row.size()) + *eps;
  Intermediates formed{{Formed::kRootArgument, "mean(x^2) + eps", argument}};
  for (double& x : row) x /= std::sqrt(argument);
  add_gradient_through_norm(formed, row_of_element(call, gradient, element), *weight, row,
                            element % row.size());
  return formed;
}

}  // namespace

Replay rms_norm() {
  return {{"rms_norm"}, forward, backward, on_the_way, on_the_way_back, BySlices::kSmall};
}

}  // namespace nanhunt::oracle
