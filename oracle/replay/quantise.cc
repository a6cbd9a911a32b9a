// SPDX-License-Identifier: Apache-2.0
// quantise: code = round(x scale), saturating at the type's largest value; compared as code /
// scale. (FP8 Formats for Deep Learning, arXiv:2209.05433.)
#include <algorithm>
#include <cmath>

#include "oracle/replay/ops.h"
#include "oracle/rules/rule_tools.h"

namespace nanhunt::oracle {
namespace {

std::optional<Elementwise> forward(Call& call) {
  Operand* values = call.parameter_operand("weight");
  if (values == nullptr) values = call.activation_operand();
  const auto scale = oracle::attribute(call.target(), "scale");
  if (values == nullptr || !scale || !(*scale > 0)) return std::nullopt;
  const double limit = trace::max_finite(call.target().storage) / *scale;
  const auto clamped = [=](const double* const* x, size_t count, double* codes,
                           double* magnitudes) {
    for (size_t i = 0; i < count; ++i) {
      codes[i] = std::clamp(x[0][i], -limit, limit);
      magnitudes[i] = std::abs(codes[i]);
    }
  };
  return Elementwise{{values}, clamped, 3};
}

Intermediates on_the_way(Call& call, size_t /*element*/) {
  const auto scale = oracle::attribute(call.target(), "scale");
  if (!scale) return {};
  return {{Formed::kScale, "the scale", *scale}};
}

}  // namespace

Replay quantise() {
  return {.ops = {"quantise"},
          .on_the_way = on_the_way,
          .by_slices = BySlices::kSmall,
          .elementwise = forward};
}

}  // namespace nanhunt::oracle
