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

struct Slope {
  double value, derivative;
};

Slope by_erf(double x) {
  const double normal = 0.5 * std::erfc(-x / std::numbers::sqrt2);
  const double density = std::exp(-0.5 * x * x) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
  return {x * normal, normal + x * density};
}

Slope by_tanh(double x) {
  const double root = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
  const double t = std::tanh(root * (x + kCubic * x * x * x));
  const double inner = root * (1 + 3 * kCubic * x * x);
  return {0.5 * x * (1 + t), 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * inner};
}

std::optional<Recomputed> forward(Call& call) {
  const Tensor* input = call.activation();
  const auto aligned = input == nullptr ? std::nullopt : shaped_like_target(call, *input);
  if (!aligned) return std::nullopt;
  const bool tanh = call.flag("tanh");
  Recomputed result{{}, {}, kRoundings};
  for (const double x : aligned->values) {
    result.values.push_back((tanh ? by_tanh(x) : by_erf(x)).value);
    result.magnitudes.push_back(std::abs(x));
  }
  return result;
}

std::optional<Recomputed> backward(Call& call, const Tensor& gradient) {
  const Tensor* input = call.activation();
  const auto x = input == nullptr ? std::nullopt : shaped_like_target(call, *input);
  const auto g = shaped_like_target(call, gradient);
  if (!x || !g) return std::nullopt;
  const bool tanh = call.flag("tanh");
  Recomputed result{{}, {}, kRoundings};
  for (size_t i = 0; i < x->values.size(); ++i) {
    const double at = x->values[i], handed = g->values[i];
    result.values.push_back(handed * (tanh ? by_tanh(at) : by_erf(at)).derivative);
    result.magnitudes.push_back(std::abs(handed) * (1 + std::abs(at)));
  }
  return result;
}

}  // namespace

Replay gelu() {
  return {{"gelu"}, "y = x Phi(x)", forward, backward};
}

}  // namespace nanhunt::oracle
