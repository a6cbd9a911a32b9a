// SPDX-License-Identifier: Apache-2.0
// dropout by its mask: y = x / (1 - p) where the mask is true, else 0;  dx = g / (1 - p) where it
// is true, else 0. `p` is an attribute, the mask an operand of role "mask" (Srivastava et al.,
// Dropout, 2014, scaled in training).
#include <cmath>

#include "oracle/replay/ops.h"

namespace nanhunt::oracle {
namespace {

// Of `values`. A choice, not a product: what is dropped leaves no NaN behind.
std::optional<Elementwise> kept(Call& call, Operand& values) {
  Operand* mask = call.operand_of_role("mask");
  const auto p = call.attribute("p");
  if (mask == nullptr || !p || !(*p >= 0 && *p < 1)) return std::nullopt;
  const auto choice = [left = 1 - *p](const double* const* in, size_t count, double* result,
                                      double* magnitudes) {
    for (size_t i = 0; i < count; ++i) {
      result[i] = in[1][i] != 0 ? in[0][i] / left : 0;
      magnitudes[i] = std::abs(result[i]);
    }
  };
  return Elementwise{{&values, mask}, choice, 2};
}

std::optional<Elementwise> forward(Call& call) {
  Operand* input = call.activation_operand();
  return input == nullptr ? std::nullopt : kept(call, *input);
}

// Of a gradient, element by element: 1 / (1 - p) where the mask is true, else 0.
std::optional<std::vector<double>> factors(Call& call, const Tensor& gradient) {
  const Tensor* mask = call.of_role("mask");
  const auto p = call.attribute("p");
  if (mask == nullptr || !p || !(*p >= 0 && *p < 1)) return std::nullopt;
  Tensor through = in_order_of(*mask, gradient.axes);
  if (through.shape != gradient.shape) return std::nullopt;
  for (double& value : through.values) value = value != 0 ? 1 / (1 - *p) : 0;
  return std::move(through.values);
}

// A parameter that was added to every row before gets the sum over them.
std::optional<Recomputed> of_parameter(Call& call, const Tensor& gradient) {
  const auto by = factors(call, gradient);
  if (!by) return std::nullopt;
  Tensor rows = gradient;
  for (size_t i = 0; i < rows.values.size(); ++i)
    rows.values[i] = (*by)[i] != 0 ? rows.values[i] * (*by)[i] : 0;
  Recomputed result = sum_of_rows(rows);
  result.roundings += 2;
  return result;
}

Intermediates on_the_way(Call& call, size_t element) {
  const Tensor* input = call.activation();
  const Tensor* mask = call.of_role("mask");
  if (input == nullptr || mask == nullptr) return {};
  const auto x = shaped_like_target(call, *input), through = shaped_like_target(call, *mask);
  if (!x || !through || element >= x->values.size()) return {};
  Intermediates formed;
  add_products(formed, {{x->values[element], through->values[element]}});
  return formed;
}

// Dropped by a product, where the op chooses.
Intermediates on_the_way_back(Call& call, const Tensor& gradient, size_t element) {
  const bool of_parameter = !parameter_name(call.target()).empty();
  const Tensor g = of_parameter ? gradient : in_order_of(gradient, axes_of(call.target()));
  const auto by = factors(call, g);
  if (!by || element >= g.values.size()) return {};
  const size_t step = of_parameter ? static_cast<size_t>(g.columns()) : g.values.size();
  std::vector<Product> products;
  for (size_t i = element; i < g.values.size(); i += step)
    products.push_back({g.values[i], (*by)[i]});
  Intermediates formed;
  add_products(formed, products);
  return formed;
}

}  // namespace

Replay dropout() {
  return {.ops = {"dropout"},
          .backward = of_parameter,
          .on_the_way = on_the_way,
          .on_the_way_back = on_the_way_back,
          .by_slices = BySlices::kSmall,
          .elementwise = forward,
          .elementwise_back = kept};
}

}  // namespace nanhunt::oracle
