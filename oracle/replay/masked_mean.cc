// SPDX-License-Identifier: Apache-2.0
// masked_mean: loss = sum of mask x token loss / `denominator`;  d token loss = g mask /
// denominator The loss of a step is the sum of those of its microbatches.
#include <cmath>

#include "oracle/replay/ops.h"

namespace nanhunt::oracle {
namespace {

std::optional<Recomputed> sum_of(const std::vector<const Tensor*>& losses) {
  std::optional<Recomputed> total;
  for (const Tensor* loss : losses) {
    if (loss->size() != 1) return std::nullopt;
    total = total ? sum(std::move(*total), exactly(loss->values)) : exactly(loss->values);
  }
  return total;
}

std::optional<Recomputed> forward(Call& call) {
  const Tensor* mask = call.of_role("loss_mask");
  const Tensor* loss = call.of_role("token_loss");
  if (mask == nullptr && loss == nullptr) return sum_of(call.activations());
  const auto denominator = call.attribute("denominator");
  if (mask == nullptr || loss == nullptr || !denominator) return std::nullopt;
  const Tensor aligned = in_order_of(*mask, loss->axes);
  if (aligned.size() != loss->size()) return std::nullopt;
  Recomputed result{{0}, {0}, static_cast<double>(loss->size()) + 2};
  for (size_t i = 0; i < loss->values.size(); ++i) {
    const double term = aligned.values[i] * loss->values[i] / *denominator;
    result.values[0] += term;
    result.magnitudes[0] += std::abs(term);
  }
  return result;
}

std::optional<Recomputed> backward(Call& call, const Tensor& gradient) {
  const Tensor* mask = call.of_role("loss_mask");
  const auto denominator = call.attribute("denominator");
  if (mask == nullptr || !denominator || gradient.size() != 1) return std::nullopt;
  std::vector<double> values = in_order_of(*mask, axes_of(call.target())).values;
  for (double& value : values) value *= gradient.values[0] / *denominator;
  Recomputed result = exactly(std::move(values));
  result.roundings = 2;
  return result;
}

}  // namespace

Replay masked_mean() {
  return {{"masked_mean"}, forward, backward};
}

}  // namespace nanhunt::oracle
