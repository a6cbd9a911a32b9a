// SPDX-License-Identifier: Apache-2.0
// dropout by its mask: y = x / (1 - p) where the mask is true, else 0;  dx = g / (1 - p) where it
// is true, else 0. `p` is an attribute, the mask an operand of role "mask" (Srivastava et al.,
// Dropout, 2014, scaled in training).
#include "oracle/replay/ops.h"

namespace nanhunt::oracle {
namespace {

std::optional<Recomputed> kept(Call& call, const Tensor& values) {
  const Tensor* mask = call.of_role("mask");
  const auto p = call.attribute("p");
  if (mask == nullptr || !p || !(*p >= 0 && *p < 1)) return std::nullopt;
  const auto through = shaped_like_target(call, *mask);
  auto result = shaped_like_target(call, values);
  if (!through || !result) return std::nullopt;
  // A choice, not a product: what is dropped leaves no NaN behind.
  for (size_t i = 0; i < result->values.size(); ++i)
    result->values[i] = through->values[i] != 0 ? result->values[i] / (1 - *p) : 0;
  Recomputed scaled = exactly(std::move(result->values));
  scaled.roundings = 2;
  return scaled;
}

std::optional<Recomputed> forward(Call& call) {
  const Tensor* input = call.activation();
  return input == nullptr ? std::nullopt : kept(call, *input);
}

std::optional<Recomputed> backward(Call& call, const Tensor& gradient) {
  return kept(call, gradient);
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
  return {{"dropout"}, forward, backward, on_the_way};
}

}  // namespace nanhunt::oracle
