// SPDX-License-Identifier: Apache-2.0
// add: the sum of its operands, as of a residual stream; its gradient is handed on. A parameter
// that was added to every row gets the sum over them.
#include <cmath>

#include "oracle/replay/ops.h"

namespace nanhunt::oracle {
namespace {

std::optional<Recomputed> forward(Call& call) {
  const auto axes = axes_of(call.target());
  Recomputed total;
  for (const Tensor* operand : call.activations()) {
    Tensor room;
    const Tensor& term = in_order_of(*operand, axes, room);
    if (term.shape != call.target().local_shape) return std::nullopt;
    if (total.values.empty()) {
      total = exactly(term.values);
      continue;
    }
    for (size_t i = 0; i < total.values.size(); ++i) {
      total.values[i] += term.values[i];
      total.magnitudes[i] += std::abs(term.values[i]);
    }
    total.roundings += 1;
  }
  return call.activations().empty() ? std::nullopt : std::optional(std::move(total));
}

std::optional<Recomputed> backward(Call& call, const Tensor& gradient) {
  if (!parameter_name(call.target()).empty()) return sum_of_rows(gradient);
  auto aligned = shaped_like_target(call, gradient);
  if (!aligned) return std::nullopt;
  return exactly(std::move(aligned->values));
}

Intermediates on_the_way(Call& call, size_t element) {
  std::vector<double> terms;
  for (const Tensor* operand : call.activations()) {
    const auto aligned = shaped_like_target(call, *operand);
    if (!aligned) return {};
    terms.push_back(aligned->values[element]);
  }
  Intermediates formed;
  add_terms(formed, terms);
  return formed;
}

}  // namespace

Replay add() {
  return {{"add"}, forward, backward, on_the_way, nullptr, BySlices::kSmall};
}

}  // namespace nanhunt::oracle
