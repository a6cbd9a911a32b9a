// SPDX-License-Identifier: Apache-2.0
// dropout by its mask: y = x / (1 - p) where the mask is true, else 0;  dx = g / (1 - p) where it
// is true, else 0. `p` is an attribute, the mask an operand of role "mask" (Srivastava et al.,
// Dropout, 2014, scaled in training).
#include "oracle/replay/ops.h"

namespace nanhunt::oracle {
namespace {

// In the dimensions of `axes`. A choice, not a product: what is dropped leaves no NaN behind.
std::optional<Tensor> kept(Call& call, const Tensor& values, const std::vector<std::string>& axes) {
  const Tensor* mask = call.of_role("mask");
  const auto p = call.attribute("p");
  if (mask == nullptr || !p || !(*p >= 0 && *p < 1)) return std::nullopt;
  const Tensor through = in_order_of(*mask, axes);
  Tensor result = in_order_of(values, axes);
  if (through.shape != result.shape) return std::nullopt;
  for (size_t i = 0; i < result.values.size(); ++i)
    result.values[i] = through.values[i] != 0 ? result.values[i] / (1 - *p) : 0;
  return result;
}

std::optional<Recomputed> scaled(std::optional<Tensor> tensor, const std::vector<int64_t>& shape) {
  if (!tensor || tensor->shape != shape) return std::nullopt;
  Recomputed result = exactly(std::move(tensor->values));
  result.roundings = 2;
  return result;
}

std::optional<Recomputed> forward(Call& call) {
  const Tensor* input = call.activation();
  if (input == nullptr) return std::nullopt;
  return scaled(kept(call, *input, axes_of(call.target())), call.target().local_shape);
}

// A parameter that was added to every row before gets the sum over them.
std::optional<Recomputed> backward(Call& call, const Tensor& gradient) {
  if (parameter_name(call.target()).empty())
    return scaled(kept(call, gradient, axes_of(call.target())), call.target().local_shape);
  const auto rows = kept(call, gradient, gradient.axes);
  if (!rows) return std::nullopt;
  Recomputed result = sum_of_rows(*rows);
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

}  // namespace

Replay dropout() {
  return {{"dropout"}, forward, backward, on_the_way, nullptr, BySlices::kSmall};
}

}  // namespace nanhunt::oracle
