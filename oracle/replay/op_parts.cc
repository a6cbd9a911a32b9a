// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "oracle/replay/ops.h"

namespace nanhunt::oracle {

std::optional<Tensor> shaped_like_target(const Call& call, const Tensor& tensor) {
  Tensor aligned = in_order_of(tensor, axes_of(call.target()));
  if (aligned.shape != call.target().local_shape) return std::nullopt;
  return aligned;
}

bool same_rows(const std::vector<int64_t>& a, const std::vector<int64_t>& b) {
  return a.size() == b.size() && !a.empty() && std::equal(a.begin(), a.end() - 1, b.begin());
}

std::vector<double> row_of_element(Call& call, size_t element) {
  const Tensor* input = call.activation();
  return input == nullptr ? std::vector<double>{} : row_of_element(call, *input, element);
}

std::vector<double> row_of_element(const Call& call, const Tensor& tensor, size_t element) {
  const auto x = shaped_like_target(call, tensor);
  if (!x || element >= x->values.size()) return {};
  const auto width = static_cast<size_t>(x->columns());
  const auto start = x->values.begin() + static_cast<std::ptrdiff_t>(element / width * width);
  return {start, start + static_cast<std::ptrdiff_t>(width)};
}

void add_gradient_through_norm(Intermediates& to, const std::vector<double>& g,
                               const std::vector<double>& weight, const std::vector<double>& n,
                               size_t column) {
  if (g.size() != n.size() || weight.size() != n.size() || column >= n.size()) return;
  std::vector<Product> scaled, projected;
  double mean = 0;
  for (size_t c = 0; c < n.size(); ++c) {
    scaled.push_back({g[c], weight[c]});
    projected.push_back({g[c] * weight[c], n[c]});
    mean += g[c] * weight[c] * n[c] / static_cast<double>(n.size());
  }
  // The most extreme alone: nothing adds them up.
  const auto size = [](const Product& one) {
    const double product = std::abs(one.a * one.b);
    return std::isnan(product) ? INFINITY : product;
  };
  add_products(to, {*std::ranges::max_element(scaled, {}, size)});
  add_products(to, projected);
  add_terms(to, {g[column] * weight[column], -n[column] * mean});
}

void add_weight_gradient(Intermediates& to, const std::string& what,
                         const std::vector<double>& arguments, const Tensor& g,
                         const std::vector<double>& n, size_t column) {
  if (g.values.size() != n.size() || arguments.empty() || column >= n.size()) return;
  // A row whose n is NaN makes the sum NaN, whatever the others are.
  const auto least = std::ranges::min_element(arguments);
  to.push_back({Formed::kRootArgument,
                what + " of row " + std::to_string(least - arguments.begin()), *least});
  std::vector<Product> terms;
  for (size_t i = column; i < n.size(); i += n.size() / arguments.size())
    terms.push_back({g.values[i], n[i]});
  add_products(to, terms);
}

void add_column(Intermediates& to, const Tensor& rows, size_t column) {
  std::vector<double> terms;
  for (size_t i = column; i < rows.values.size(); i += static_cast<size_t>(rows.columns()))
    terms.push_back(rows.values[i]);
  add_terms(to, terms);
}

std::optional<double> element_of(const Call& call, const Tensor* tensor, size_t element) {
  const auto aligned = tensor == nullptr ? std::nullopt : shaped_like_target(call, *tensor);
  if (!aligned || element >= aligned->values.size()) return std::nullopt;
  return aligned->values[element];
}

std::optional<std::vector<double>> weight_of_columns(Call& call, size_t width) {
  const Tensor* weight = call.parameter("weight");
  if (weight == nullptr) return std::vector<double>(width, 1.0);
  if (weight->values.size() != width) return std::nullopt;
  return weight->values;
}

bool add_to_rows(Recomputed& result, const std::vector<double>& row) {
  if (row.empty() || result.values.size() % row.size() != 0) return false;
  for (size_t i = 0; i < result.values.size(); ++i) {
    result.values[i] += row[i % row.size()];
    result.magnitudes[i] += std::abs(row[i % row.size()]);
  }
  result.roundings += 1;
  return true;
}

Recomputed sum_of_rows(const Tensor& gradient) {
  const auto width = static_cast<size_t>(gradient.columns());
  Recomputed result{std::vector<double>(width), std::vector<double>(width),
                    static_cast<double>(gradient.rows())};
  for (size_t i = 0; i < gradient.values.size(); ++i) {
    result.values[i % width] += gradient.values[i];
    result.magnitudes[i % width] += std::abs(gradient.values[i]);
  }
  return result;
}

}  // namespace nanhunt::oracle
