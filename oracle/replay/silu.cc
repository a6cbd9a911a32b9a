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

std::optional<Recomputed> forward(Call& call) {
  const Tensor* input = call.activation();
  const auto aligned = input == nullptr ? std::nullopt : shaped_like_target(call, *input);
  if (!aligned) return std::nullopt;
  Recomputed result{{}, {}, kRoundings};
  for (const double x : aligned->values) {
    result.values.push_back(x * sigmoid(x));
    result.magnitudes.push_back(std::abs(x * sigmoid(x)) * (1 + std::abs(x)));
  }
  return result;
}

std::optional<Recomputed> backward(Call& call, const Tensor& gradient) {
  const Tensor* input = call.activation();
  const auto x = input == nullptr ? std::nullopt : shaped_like_target(call, *input);
  const auto g = shaped_like_target(call, gradient);
  if (!x || !g) return std::nullopt;
  Recomputed result{{}, {}, kRoundings};
  for (size_t i = 0; i < x->values.size(); ++i) {
    const double at = x->values[i], handed = g->values[i], s = sigmoid(at);
    result.values.push_back(handed * s * (1 + at * (1 - s)));
    result.magnitudes.push_back(std::abs(handed) * s * (1 + std::abs(at)) * (1 + std::abs(at)));
  }
  return result;
}

}  // namespace

Replay silu() {
  return {{"silu"}, "y = x sigma(x)", forward, backward};
}

}  // namespace nanhunt::oracle
