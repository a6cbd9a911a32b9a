// SPDX-License-Identifier: Apache-2.0
// Functions of one number: exp log sqrt rsqrt reciprocal tanh sigmoid relu, and dx = g f'(x).
// Magnitudes: what a rounding of x moves the result by, |x f'(x)|, and its own rounding.
#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "oracle/replay/ops.h"
#include "oracle/rules/rule_tools.h"

namespace nanhunt::oracle {
namespace {

constexpr double kRoundings = 6;  // of a library's function

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

// y, moved by |y| + `more`: its own rounding, and what it takes of the rounding of x.
Term term(double y, double more) {
  return {y, std::abs(y) + more};
}

struct Function {
  std::string_view op;
  std::optional<Formed> argument;  // what x is to it, where that can be wrong
  ByElement value, slope;
};

const std::array kFunctions = {
    Function{"exp",
             {},  // on_the_way has its own
             by_element([](double x) { return term(std::exp(x), std::abs(x) * std::exp(x)); }),
             by_element([](double x) { return term(std::exp(x), std::abs(x) * std::exp(x)); })},
    Function{"log", Formed::kLogArgument, by_element([](double x) { return term(std::log(x), 1); }),
             by_element([](double x) { return term(1 / x, 0); })},
    Function{"sqrt", Formed::kRadicand, by_element([](double x) { return term(std::sqrt(x), 0); }),
             by_element([](double x) { return term(0.5 / std::sqrt(x), 0); })},
    Function{"rsqrt", Formed::kRootArgument,
             by_element([](double x) { return term(1 / std::sqrt(x), 0); }),
             by_element([](double x) { return term(-0.5 / (x * std::sqrt(x)), 0); })},
    Function{"reciprocal", Formed::kDivisor, by_element([](double x) { return term(1 / x, 0); }),
             by_element([](double x) { return term(-1 / (x * x), 0); })},
    Function{"tanh",
             {},
             by_element([](double x) { return term(std::tanh(x), std::min(std::abs(x), 1.0)); }),
             by_element([](double x) { return term(1 - std::tanh(x) * std::tanh(x), 1); })},
    Function{
        "sigmoid",
        {},
        by_element([](double x) { return term(sigmoid(x), std::abs(x) * sigmoid(x)); }),
        by_element([](double x) { return term(sigmoid(x) * (1 - sigmoid(x)), 1 + std::abs(x)); })},
    Function{"relu",
             {},  // NaN stays NaN, as in the frameworks
             by_element([](double x) { return term(x < 0 ? 0 : x, 0); }),
             by_element([](double x) { return term(x > 0 ? 1.0 : 0.0, 0); })},
};

const Function& function_of(const Call& call) {
  return *std::ranges::find(kFunctions, std::string_view(call.op()), &Function::op);
}

std::optional<Elementwise> forward(Call& call) {
  return pointwise(call, function_of(call).value, kRoundings);
}

std::optional<Elementwise> backward(Call& call, Operand& gradient) {
  return pointwise_gradient(call, gradient, function_of(call).slope, kRoundings);
}

Intermediates on_the_way(Call& call, size_t element) {
  const auto x = element_of(call, call.activation(), element);
  if (!x) return {};
  const Function& function = function_of(call);
  if (function.op == "exp" && std::isfinite(*x))
    return {{Formed::kExponential, "exp(" + short_number(*x) + ")", std::exp(*x)}};
  if (function.argument) return {{*function.argument, "its argument", *x}};
  return {};
}

// A root's derivative divides by the root.
Intermediates on_the_way_back(Call& call, const Tensor& /*gradient*/, size_t element) {
  const auto x = element_of(call, call.activation(), element);
  if (!x || !function_of(call).argument) return {};
  const bool root = function_of(call).op == "sqrt" || function_of(call).op == "rsqrt";
  return {{root ? Formed::kRootArgument : Formed::kDivisor, "the argument in forward", *x}};
}

}  // namespace

Replay elementary() {
  Replay replay{.ops = {},
                .on_the_way = on_the_way,
                .on_the_way_back = on_the_way_back,
                .by_slices = BySlices::kSmall,
                .elementwise = forward,
                .elementwise_back = backward};
  for (const Function& function : kFunctions) replay.ops.emplace_back(function.op);
  return replay;
}

}  // namespace nanhunt::oracle
