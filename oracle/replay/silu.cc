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

}  // namespace

Replay silu() {
  return {.ops = {"silu"},
          .by_slices = BySlices::kSmall,
          .elementwise = forward,
          .elementwise_back = backward};
}

}  // namespace nanhunt::oracle
