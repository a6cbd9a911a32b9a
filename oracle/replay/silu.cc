// SPDX-License-Identifier: Apache-2.0
// silu: y = x sigma(x);  dx = g sigma(x) (1 + x (1 - sigma(x)))
// sigma(x) = 1 / (1 + exp(-x)): exp takes the rounding of x times |x|, hence 1 + |x|.
#include <cmath>

#include "oracle/replay/ops.h"

namespace nanhunt::oracle {
namespace {

constexpr double kRoundings = 8;

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

constexpr auto value = by_element([](double x) -> Term {
  const double y = x * sigmoid(x);
  return {y, std::abs(y) * (1 + std::abs(x))};
});

constexpr auto slope = by_element([](double x) -> Term {
  const double s = sigmoid(x);
  return {s * (1 + x * (1 - s)), s * (1 + std::abs(x)) * (1 + std::abs(x))};
});

std::optional<Elementwise> forward(Call& call) {
  return pointwise(call, value, kRoundings);
}

std::optional<Elementwise> backward(Call& call, Operand& gradient) {
  return pointwise_gradient(call, gradient, slope, kRoundings);
}

// sigma ends at 0 where exp(-x) overflows, so a finite x makes none of it NaN or Inf; of an
// infinite one, a product with 0 does.
Intermediates on_the_way_back(Call& call, const Tensor& gradient, size_t element) {
  const auto x = element_of(call, call.activation(), element);
  const auto g = element_of(call, &gradient, element);
  if (!x || !g) return {};
  const double s = sigmoid(*x), inner = 1 + *x * (1 - s);
  Intermediates formed;
  add_products(formed, {{*x, 1 - s}});
  add_products(formed, {{s, inner}});
  add_products(formed, {{*g, s * inner}});
  return formed;
}

}  // namespace

Replay silu() {
  return {.ops = {"silu"},
          .on_the_way_back = on_the_way_back,
          .by_slices = BySlices::kSmall,
          .elementwise = forward,
          .elementwise_back = backward};
}

}  // namespace nanhunt::oracle
