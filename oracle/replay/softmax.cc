// SPDX-License-Identifier: Apache-2.0
// softmax over the last dimension: p = exp(x - max) / sum exp(x - max);  dx = p (g - sum of p g)
// exp turns the rounding of its argument a into |a| u of the result, hence 1 + |a|.
#include <algorithm>
#include <cmath>
#include <vector>

#include "oracle/replay/ops.h"
#include "oracle/rules/rule_tools.h"

namespace nanhunt::oracle {
namespace {

struct Weights {
  std::vector<double> p, condition;  // 1 + |x - max|
  size_t width = 0;
};

std::optional<Weights> weights_of(Call& call) {
  const Tensor* input = call.activation();
  const auto x = input == nullptr ? std::nullopt : shaped_like_target(call, *input);
  if (!x || x->columns() == 0) return std::nullopt;
  const double last = static_cast<double>(x->shape.size()) - 1;
  const double dimension = call.attribute("dim").value_or(-1);
  if (dimension != -1 && dimension != last) return std::nullopt;
  Weights result{x->values, std::vector<double>(x->values.size()),
                 static_cast<size_t>(x->columns())};
  for (size_t start = 0; start < result.p.size(); start += result.width) {
    double* row = &result.p[start];
    const double most = *std::max_element(row, row + result.width);
    double total = 0;
    for (size_t c = 0; c < result.width; ++c) {
      result.condition[start + c] = 1 + std::abs(row[c] - most);
      row[c] = std::exp(row[c] - most);
      total += row[c];
    }
    for (size_t c = 0; c < result.width; ++c) row[c] /= total;
  }
  return result;
}

double roundings(const Weights& weights) {
  return static_cast<double>(weights.width) + 8;
}

std::optional<Recomputed> forward(Call& call) {
  auto weights = weights_of(call);
  if (!weights) return std::nullopt;
  Recomputed result{weights->p, std::move(weights->condition), roundings(*weights)};
  for (size_t i = 0; i < result.values.size(); ++i) result.magnitudes[i] *= result.values[i];
  return result;
}

std::optional<Recomputed> backward(Call& call, const Tensor& gradient) {
  const auto weights = weights_of(call);
  const auto g = shaped_like_target(call, gradient);
  if (!weights || !g) return std::nullopt;
  Recomputed result{{}, {}, 2 * roundings(*weights)};
  for (size_t start = 0; start < g->values.size(); start += weights->width) {
    double mean = 0, size = 0;
    for (size_t i = start; i < start + weights->width; ++i) {
      mean += weights->p[i] * g->values[i];
      size += weights->p[i] * weights->condition[i] * std::abs(g->values[i]);
    }
    for (size_t i = start; i < start + weights->width; ++i) {
      result.values.push_back(weights->p[i] * (g->values[i] - mean));
      result.magnitudes.push_back(weights->p[i] * weights->condition[i] *
                                  (std::abs(g->values[i]) + size));
    }
  }
  return result;
}

Intermediates on_the_way(Call& call, size_t element) {
  const auto row = row_of_element(call, element);
  if (row.empty()) return {};
  const double most = *std::ranges::max_element(row);
  const auto hidden = std::ranges::count_if(row, [](double x) { return std::isinf(x) && x < 0; });
  Intermediates formed{{Formed::kVisible, "the number of terms above -Inf",
                        static_cast<double>(row.size()) - static_cast<double>(hidden)}};
  if (std::isfinite(most)) {
    formed.push_back({Formed::kExponential,
                      "exp(" + short_number(most) + "), unless the maximum is taken off,",
                      std::exp(most)});
  } else if (!std::isnan(most)) {
    formed.push_back({Formed::kSum, "a term less the maximum", most - most});
  }
  return formed;
}

// From the weights that forward kept: exponentials are not taken again.
Intermediates on_the_way_back(Call& call, const Tensor& gradient, size_t element) {
  const auto weights = weights_of(call);
  const auto g = row_of_element(call, gradient, element);
  if (!weights || g.size() != weights->width) return {};
  Intermediates formed = on_the_way(call, element);
  std::erase_if(formed, [](const Intermediate& one) { return one.formed == Formed::kExponential; });
  const size_t column = element % weights->width, start = element - column;
  std::vector<Product> products;
  double mean = 0;
  for (size_t c = 0; c < weights->width; ++c) {
    products.push_back({weights->p[start + c], g[c]});
    mean += weights->p[start + c] * g[c];
  }
  add_products(formed, products);
  add_terms(formed, {g[column], -mean});
  return formed;
}

}  // namespace

Replay softmax() {
  return {{"softmax"}, forward, backward, on_the_way, on_the_way_back, BySlices::kSmall};
}

}  // namespace nanhunt::oracle
