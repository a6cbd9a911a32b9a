// SPDX-License-Identifier: Apache-2.0
// mul, div: of two tensors of one shape, in program order. Which of them a gradient is of, no
// record tells, so there is no derivative.
#include <cmath>
#include <functional>

#include "oracle/replay/ops.h"
#include "oracle/rules/rule_tools.h"

namespace nanhunt::oracle {
namespace {

struct Pair {
  Tensor a, b;
};

std::optional<Pair> pair_of(Call& call) {
  const auto operands = call.activations();
  if (operands.size() != 2) return std::nullopt;
  auto a = shaped_like_target(call, *operands[0]), b = shaped_like_target(call, *operands[1]);
  if (!a || !b) return std::nullopt;
  return Pair{std::move(*a), std::move(*b)};
}

template <class F>
void each(const double* const* in, size_t count, double* values, double* magnitudes, F of) {
  for (size_t i = 0; i < count; ++i) {
    values[i] = of(in[0][i], in[1][i]);
    magnitudes[i] = std::abs(values[i]);
  }
}

// Compiled for the machine's vectors, with equal bits.
[[gnu::target_clones("avx512f", "avx2", "default")]] void product(const double* const* in,
                                                                  size_t count, double* values,
                                                                  double* magnitudes) {
  each(in, count, values, magnitudes, std::multiplies<>());
}
[[gnu::target_clones("avx512f", "avx2", "default")]] void quotient(const double* const* in,
                                                                   size_t count, double* values,
                                                                   double* magnitudes) {
  each(in, count, values, magnitudes, std::divides<>());
}

std::optional<Elementwise> forward(Call& call) {
  const auto operands = call.activation_operands();
  if (operands.size() != 2) return std::nullopt;
  return Elementwise{operands, call.op() == "mul" ? product : quotient, 1};
}

Intermediates on_the_way(Call& call, size_t element) {
  const auto pair = pair_of(call);
  if (!pair || element >= pair->a.values.size()) return {};
  const double a = pair->a.values[element], b = pair->b.values[element];
  Intermediates formed;
  if (call.op() == "mul") {
    add_products(formed, {{a, b}});
    return formed;
  }
  if (std::isnan(a) || std::isnan(b)) return {};
  return {{Formed::kDivisor, "of " + short_number(a) + " / x, x", b},
          {Formed::kQuotient, short_number(a) + " / " + short_number(b), a / b}};
}

}  // namespace

Replay product_of_two() {
  return {.ops = {"mul", "div"},
          .on_the_way = on_the_way,
          .by_slices = BySlices::kSmall,
          .elementwise = forward};
}

}  // namespace nanhunt::oracle
