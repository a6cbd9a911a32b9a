// SPDX-License-Identifier: Apache-2.0
// gelu: y = x Phi(x), or the tanh form where the record's attribute `tanh` is true (Hendrycks and
// Gimpel, Gaussian Error Linear Units, 2016).
//   dx = g (Phi(x) + x phi(x))
// Phi = (1 + erf) / 2 cancels for large negative x, so the error is relative to |x|, not to y.
#include <cmath>
#include <numbers>

#include "oracle/replay/ops.h"

namespace nanhunt::oracle {
namespace {

// erf or tanh with a few roundings, and the products around it.
constexpr double kRoundings = 16;
constexpr double kCubic = 0.044715;
constexpr double kRoot = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;  // sqrt(2 / pi)

double normal(double x) {
  return 0.5 * std::erfc(x * (-std::numbers::sqrt2 / 2));
}

double tanh_of(double x) {
  return std::tanh(kRoot * (x + kCubic * x * x * x));
}

constexpr auto by_erf = by_element([](double x) -> Term { return {x * normal(x), std::abs(x)}; });

constexpr auto slope_by_erf = by_element([](double x) -> Term {
  const double density = std::exp(-0.5 * x * x) * kRoot / 2;
  return {normal(x) + x * density, 1 + std::abs(x)};
});

constexpr auto by_tanh = by_element([](double x) -> Term {
  return {0.5 * x * (1 + tanh_of(x)), std::abs(x)};
});

constexpr auto slope_by_tanh = by_element([](double x) -> Term {
  const double t = tanh_of(x), inner = kRoot * (1 + 3 * kCubic * x * x);
  return {0.5 * (1 + t) + 0.5 * x * (1 - t * t) * inner, 1 + std::abs(x)};
});

std::optional<Elementwise> forward(Call& call) {
  return pointwise(call, call.flag("tanh") ? by_tanh : by_erf, kRoundings);
}

std::optional<Elementwise> backward(Call& call, Operand& gradient) {
  return pointwise_gradient(call, gradient, call.flag("tanh") ? slope_by_tanh : slope_by_erf,
                            kRoundings);
}

// exp(-x^2 / 2) and tanh(x^3) end at 0 and 1 where their argument overflows; but the tanh form
// multiplies x^2 with 1 - tanh^2, which is 0 there. Both forms make NaN of an infinite x.
Intermediates on_the_way_back(Call& call, const Tensor& gradient, size_t element) {
  const auto x = element_of(call, call.activation(), element);
  const auto g = element_of(call, &gradient, element);
  if (!x || !g) return {};
  double slope, unused;
  Intermediates formed;
  if (call.flag("tanh")) {
    const double left = 1 - tanh_of(*x) * tanh_of(*x);
    add_products(formed, {{*x, *x}});
    add_products(formed, {{*x, left}});
    add_products(formed, {{*x * left, *x * *x}});
    slope_by_tanh(&*x, 1, &slope, &unused);
  } else {
    add_products(formed, {{*x, std::exp(-0.5 * *x * *x)}});
    slope_by_erf(&*x, 1, &slope, &unused);
  }
  add_products(formed, {{*g, slope}});
  return formed;
}

}  // namespace

Replay gelu() {
  return {.ops = {"gelu"},
          .on_the_way_back = on_the_way_back,
          .by_slices = BySlices::kSmall,
          .elementwise = forward,
          .elementwise_back = backward};
}

}  // namespace nanhunt::oracle
