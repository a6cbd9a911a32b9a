// SPDX-License-Identifier: Apache-2.0
// layer_norm: y = n w + b,  n = (x - m) r,  r = 1 / sqrt(var(x) + eps)  (Ba, Kiros and Hinton,
// Layer Normalization, 2016; the variance is that of the row, not of a sample). With h = g w:
//   dx = r (h - mean(h) - n mean(h n)),  dw = sum of g n,  db = sum of g
// x - m cancels where the mean is large against the deviation, so errors are relative to
// (|x| + mean|x|) r, and those of the variance to the square of that.
#include <algorithm>
#include <cmath>

#include "oracle/replay/ops.h"

namespace nanhunt::oracle {
namespace {

struct Rows {
  Tensor normalised;              // n
  std::vector<double> spread;     // (|x| + mean|x|) r of each element
  std::vector<double> worst;      // 1 + (mean|x| r)^2 of each row: what the variance may lose
  std::vector<double> arguments;  // var(x) + eps of each row
  std::vector<double> scale;      // r of each row
  std::vector<double> weight;
};

std::optional<Rows> rows_of(Call& call, const std::vector<std::string>& axes) {
  const Tensor* input = call.activation();
  const auto eps = call.attribute("eps");
  if (input == nullptr || !eps || input->columns() == 0) return std::nullopt;
  Rows rows{in_order_of(*input, axes), {}, {}, {}, {}, {}};
  auto& x = rows.normalised.values;
  const auto width = static_cast<size_t>(rows.normalised.columns());
  const double n = static_cast<double>(width);
  auto weight = weight_of_columns(call, width);
  if (!weight) return std::nullopt;
  rows.weight = std::move(*weight);
  for (size_t start = 0; start < x.size(); start += width) {
    double mean = 0, size = 0, variance = 0;
    for (size_t c = 0; c < width; ++c) {
      mean += x[start + c] / n;
      size += std::abs(x[start + c]) / n;
    }
    for (size_t c = 0; c < width; ++c) {
      variance += (x[start + c] - mean) * (x[start + c] - mean) / n;
    }
    const double r = 1 / std::sqrt(variance + *eps);
    rows.arguments.push_back(variance + *eps);
    rows.scale.push_back(r);
    rows.worst.push_back(1 + size * r * size * r);
    for (size_t c = 0; c < width; ++c) {
      rows.spread.push_back((std::abs(x[start + c]) + size) * r);
      x[start + c] = (x[start + c] - mean) * r;
    }
  }
  return rows;
}

double roundings(const Rows& rows) {
  return static_cast<double>(rows.normalised.columns()) + 16;
}

std::optional<Recomputed> forward(Call& call) {
  const auto rows = rows_of(call, axes_of(call.target()));
  if (!rows || rows->normalised.shape != call.target().local_shape) return std::nullopt;
  const size_t width = rows->weight.size();
  Recomputed result{{}, {}, roundings(*rows)};
  for (size_t i = 0; i < rows->spread.size(); ++i) {
    const double w = rows->weight[i % width];
    result.values.push_back(rows->normalised.values[i] * w);
    result.magnitudes.push_back(rows->spread[i] * rows->worst[i / width] * std::abs(w));
  }
  const Tensor* bias = call.parameter("bias");
  if (bias != nullptr && !add_to_rows(result, bias->values)) return std::nullopt;
  return result;
}

Recomputed weight_gradient(const Rows& rows, const std::vector<double>& g) {
  const size_t width = rows.weight.size();
  Recomputed result{std::vector<double>(width), std::vector<double>(width),
                    roundings(rows) + static_cast<double>(rows.scale.size())};
  for (size_t i = 0; i < g.size(); ++i) {
    result.values[i % width] += g[i] * rows.normalised.values[i];
    result.magnitudes[i % width] += std::abs(g[i]) * rows.spread[i] * rows.worst[i / width];
  }
  return result;
}

Recomputed input_gradient(const Rows& rows, const std::vector<double>& g) {
  const size_t width = rows.weight.size();
  const double size = static_cast<double>(width);
  Recomputed result{{}, {}, 2 * roundings(rows)};
  for (size_t row = 0; row < rows.scale.size(); ++row) {
    const size_t start = row * width;
    double mean = 0, product = 0, sum_h = 0, sum_hn = 0;
    for (size_t c = 0; c < width; ++c) {
      const double h = g[start + c] * rows.weight[c];
      mean += h / size;
      product += h * rows.normalised.values[start + c] / size;
      sum_h += std::abs(h) / size;
      sum_hn += std::abs(h) * rows.spread[start + c] / size;
    }
    const double r = rows.scale[row];
    for (size_t c = 0; c < width; ++c) {
      const double h = g[start + c] * rows.weight[c];
      result.values.push_back(r * (h - mean - rows.normalised.values[start + c] * product));
      result.magnitudes.push_back(r * rows.worst[row] *
                                  (std::abs(h) + sum_h + rows.spread[start + c] * sum_hn));
    }
  }
  return result;
}

std::optional<Recomputed> backward(Call& call, const Tensor& gradient) {
  const std::string name = parameter_name(call.target());
  if (name == "bias") return sum_of_rows(gradient);
  const auto axes = name == "weight" ? gradient.axes : axes_of(call.target());
  const auto rows = rows_of(call, axes);
  if (!rows) return std::nullopt;
  const Tensor g = in_order_of(gradient, axes);
  if (g.shape != rows->normalised.shape) return std::nullopt;
  return name == "weight" ? weight_gradient(*rows, g.values) : input_gradient(*rows, g.values);
}

Intermediates on_the_way(Call& call, size_t element) {
  const auto row = row_of_element(call, element);
  const auto eps = call.attribute("eps");
  if (row.empty() || !eps) return {};
  const double n = static_cast<double>(row.size());
  Intermediates formed;
  add_terms(formed, row);
  double mean = 0, squares = 0;
  for (const double x : row) mean += x / n;
  std::vector<Product> products;
  for (const double x : row) {
    products.push_back({x - mean, x - mean});
    squares += (x - mean) * (x - mean);
  }
  add_products(formed, products);
  formed.push_back({Formed::kRootArgument, "var(x) + eps", squares / n + *eps});
  return formed;
}

Intermediates on_the_way_to_parameter(Call& call, const Tensor& gradient, size_t column) {
  Intermediates formed;
  const std::string name = parameter_name(call.target());
  if (name == "bias") add_column(formed, gradient, column);
  if (name != "weight") return formed;
  const auto rows = rows_of(call, gradient.axes);
  if (!rows || gradient.shape != rows->normalised.shape) return {};
  add_weight_gradient(formed, "var(x) + eps", rows->arguments, gradient, rows->normalised.values,
                      column);
  return formed;
}

// Mean and scale are those of forward, so the squares are not formed again.
Intermediates on_the_way_back(Call& call, const Tensor& gradient, size_t element) {
  if (!parameter_name(call.target()).empty())
    return on_the_way_to_parameter(call, gradient, element);
  auto row = row_of_element(call, element);
  const auto g = row_of_element(call, gradient, element);
  const auto weight = weight_of_columns(call, row.size());
  const auto eps = call.attribute("eps");
  if (row.empty() || g.size() != row.size() || !weight || !eps) return {};
  const double n = static_cast<double>(row.size());
  double mean = 0, squares = 0;
  for (const double x : row) mean += x / n;
  for (const double x : row) squares += (x - mean) * (x - mean);
  const double argument = squares / n + *eps;
  Intermediates formed{{Formed::kRootArgument, "var(x) + eps", argument}};
  std::vector<double> scaled;
  for (size_t c = 0; c < row.size(); ++c) {
    row[c] = (row[c] - mean) / std::sqrt(argument);
    scaled.push_back(g[c] * (*weight)[c]);
  }
  add_gradient_through_norm(formed, g, *weight, row, element % row.size());
  add_terms(formed, scaled);
  return formed;
}

}  // namespace

Replay layer_norm() {
  return {{"layer_norm"}, forward, backward, on_the_way, on_the_way_back, BySlices::kSmall};
}

}  // namespace nanhunt::oracle
