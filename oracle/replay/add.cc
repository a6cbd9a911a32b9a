// SPDX-License-Identifier: Apache-2.0
// add: the sum of its operands, as of a residual stream; its gradient is handed on. A parameter
// that was added to every row gets the sum over them.
#include <cmath>

#include "oracle/replay/ops.h"

namespace nanhunt::oracle {
namespace {

// The first two terms; compiled for the machine's vectors, with equal bits.
[[gnu::target_clones("avx512f", "avx2", "default")]] void add_two(const double* a, const double* b,
                                                                  Recomputed& total) {
  double* values = total.values.data();
  double* magnitudes = total.magnitudes.data();
  for (size_t i = 0; i < total.values.size(); ++i) {
    values[i] = a[i] + b[i];
    magnitudes[i] = std::abs(a[i]) + std::abs(b[i]);
  }
}

Recomputed sum_of(const std::vector<const Tensor*>& terms) {
  if (terms.size() < 2) return exactly(terms.front()->values);
  const size_t count = terms.front()->values.size();
  Recomputed total{std::vector<double>(count), std::vector<double>(count),
                   static_cast<double>(terms.size() - 1)};
  add_two(terms[0]->values.data(), terms[1]->values.data(), total);
  for (size_t k = 2; k < terms.size(); ++k) {
    for (size_t i = 0; i < count; ++i) {
      total.values[i] += terms[k]->values[i];
      total.magnitudes[i] += std::abs(terms[k]->values[i]);
    }
  }
  return total;
}

std::optional<Recomputed> forward(Call& call) {
  const auto operands = call.activations();
  const auto axes = axes_of(call.target());
  std::vector<Tensor> rooms(operands.size());
  std::vector<const Tensor*> terms;
  for (const Tensor* operand : operands) {
    const Tensor& term = in_order_of(*operand, axes, rooms[terms.size()]);
    if (term.shape != call.target().local_shape) return std::nullopt;
    terms.push_back(&term);
  }
  if (terms.empty()) return std::nullopt;
  return sum_of(terms);
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
