// SPDX-License-Identifier: Apache-2.0
// add: the sum of its operands, as of a residual stream; its gradient is handed on. A parameter
// that was added to every row gets the sum over them.
#include <cmath>

#include "oracle/replay/ops.h"

namespace nanhunt::oracle {
namespace {

// Compiled for the machine's vectors, with equal bits.
[[gnu::target_clones("avx512f", "avx2", "default")]] void add_two(const double* const* terms,
                                                                  size_t count, double* values,
                                                                  double* magnitudes) {
  const double *a = terms[0], *b = terms[1];
  for (size_t i = 0; i < count; ++i) {
    values[i] = a[i] + b[i];
    magnitudes[i] = std::abs(a[i]) + std::abs(b[i]);
  }
}

std::optional<Elementwise> forward(Call& call) {
  const auto terms = call.activation_operands();
  if (terms.empty()) return std::nullopt;
  if (terms.size() == 1) return handed_on(*terms.front());
  const auto sum = [all = terms.size()](const double* const* in, size_t count, double* values,
                                        double* magnitudes) {
    add_two(in, count, values, magnitudes);
    for (size_t k = 2; k < all; ++k) {
      for (size_t i = 0; i < count; ++i) {
        values[i] += in[k][i];
        magnitudes[i] += std::abs(in[k][i]);
      }
    }
  };
  return Elementwise{terms, sum, static_cast<double>(terms.size() - 1)};
}

std::optional<Recomputed> of_parameter(Call& /*call*/, const Tensor& gradient) {
  return sum_of_rows(gradient);
}

std::optional<Elementwise> backward(Call& /*call*/, Operand& gradient) {
  return handed_on(gradient);
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

// Of a parameter alone: elsewhere the gradient is handed on as it is.
Intermediates on_the_way_back(Call& call, const Tensor& gradient, size_t element) {
  Intermediates formed;
  if (!parameter_name(call.target()).empty()) add_column(formed, gradient, element);
  return formed;
}

}  // namespace

Replay add() {
  return {.ops = {"add"},
          .backward = of_parameter,
          .on_the_way = on_the_way,
          .on_the_way_back = on_the_way_back,
          .by_slices = BySlices::kSmall,
          .elementwise = forward,
          .elementwise_back = backward};
}

}  // namespace nanhunt::oracle
