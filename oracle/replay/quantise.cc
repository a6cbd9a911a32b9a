// SPDX-License-Identifier: Apache-2.0
// quantise: code = round(x scale), saturating at the type's largest value; compared as code /
// scale. (FP8 Formats for Deep Learning, arXiv:2209.05433.)
#include <algorithm>

#include "oracle/replay/ops.h"
#include "oracle/rules/rule_tools.h"

namespace nanhunt::oracle {
namespace {

std::optional<Recomputed> forward(Call& call) {
  const Tensor* values = call.parameter("weight");
  if (values == nullptr) values = call.activation();
  const auto scale = oracle::attribute(call.target(), "scale");
  if (values == nullptr || !scale || !(*scale > 0)) return std::nullopt;
  const double limit = trace::max_finite(call.target().storage) / *scale;
  auto clamped = shaped_like_target(call, *values);
  if (!clamped) return std::nullopt;
  for (double& value : clamped->values) value = std::clamp(value, -limit, limit);
  Recomputed result = exactly(std::move(clamped->values));
  result.roundings = 3;
  return result;
}

Intermediates on_the_way(Call& call, size_t /*element*/) {
  const auto scale = oracle::attribute(call.target(), "scale");
  if (!scale) return {};
  return {{Formed::kScale, "the scale", *scale}};
}

}  // namespace

Replay quantise() {
  return {{"quantise"}, forward, nullptr, on_the_way, nullptr, BySlices::kSmall};
}

}  // namespace nanhunt::oracle
