// SPDX-License-Identifier: Apache-2.0
// mul, div: of two tensors of one shape, in program order. Which of them a gradient is of, no
// record tells, so there is no derivative.
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

std::optional<Recomputed> forward(Call& call) {
  const auto pair = pair_of(call);
  if (!pair) return std::nullopt;
  std::vector<double> values(pair->a.values);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = call.op() == "mul" ? values[i] * pair->b.values[i] : values[i] / pair->b.values[i];
  Recomputed result = exactly(std::move(values));
  result.roundings = 1;
  return result;
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
  return {{Formed::kDivisor, "of " + short_number(a) + " / x, x", b},
          {Formed::kQuotient, short_number(a) + " / " + short_number(b), a / b}};
}

}  // namespace

Replay product_of_two() {
  return {{"mul", "div"}, forward, nullptr, on_the_way, nullptr, BySlices::kSmall};
}

}  // namespace nanhunt::oracle
