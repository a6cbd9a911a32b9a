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

Intermediates on_the_way(Call& call, size_t /*element*/) {
  const Tensor* mask = call.of_role("loss_mask");
  const Tensor* loss = call.of_role("token_loss");
  Intermediates formed;
  if (mask == nullptr || loss == nullptr) {
    std::vector<double> terms;
    for (const Tensor* part : call.activations()) {
      if (part->size() == 1) terms.push_back(part->values[0]);
    }
    add_terms(formed, terms);
    return formed;
  }
  const Tensor aligned = in_order_of(*mask, loss->axes);
  if (aligned.size() != loss->size()) return {};
  std::vector<Product> products;
  for (size_t i = 0; i < loss->values.size(); ++i)
    products.push_back({aligned.values[i], loss->values[i]});
  add_products(formed, products);
  if (const auto denominator = call.attribute("denominator"))
    formed.push_back({Formed::kDivisor, "the number of tokens that count", *denominator});
  return formed;
}

Intermediates on_the_way_back(Call& call, const Tensor& gradient, size_t element) {
  const Tensor* mask = call.of_role("loss_mask");
  const auto denominator = call.attribute("denominator");
  if (mask == nullptr || !denominator || gradient.size() != 1) return {};
  Intermediates formed{{Formed::kDivisor, "the number of tokens that count", *denominator}};
  const Tensor through = in_order_of(*mask, axes_of(call.target()));
  if (element < through.values.size())
    add_products(formed, {{gradient.values[0], through.values[element]}});
  return formed;
}

}  // namespace

Replay masked_mean() {
  return {{"masked_mean"}, forward, backward, on_the_way, on_the_way_back};
}

}  // namespace nanhunt::oracle
