// SPDX-License-Identifier: Apache-2.0
#include "cases/mini/attention.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cases/mini/rotary.h"
#include "cases/mini/sample_split.h"
#include "cases/mini/sites.h"

namespace nanhunt::mini {
namespace {

// The mask that this layer gets; one row of one sample may be shut out altogether.
at::Tensor mask_of_layer(const RankContext& context, int64_t layer, const at::Tensor& masked) {
  if (!context.is_in_layer(FaultName::kMaskedRow, layer)) return masked;
  const int64_t sequence = context.config.sequence;
  const int64_t sample = context.fault.element / sequence % context.config.global_batch -
                         first_sample(context.config, context.mesh.dp_rank, context.microbatch);
  if (sample < 0 || sample >= masked.size(0)) return masked;
  const at::Tensor shut = masked.clone();
  shut.select(0, sample).select(0, context.fault.element % sequence).fill_(true);
  return shut;
}

void tap_mask(RankContext& context, const Site& core, const at::Tensor& masked) {
  hooks::TapPoint point = activation_point(context, core, trace::Phase::kForward, "mask");
  point.placement = context.placements.attention_mask(context.microbatch);
  point.rounded_to.reset();
  point.attributes = R"({"true":"masked"})";
  context.taps.tap(point, masked);
}

// What the fused kernel is really given.
at::Tensor fused_mask(const RankContext& context, int64_t layer, const at::Tensor& masked) {
  if (!context.is_in_layer(FaultName::kFusedMaskLastBlock, layer)) return masked;
  const int64_t block = std::max<int64_t>(1, context.config.sequence / 4);
  const at::Tensor open = masked.clone();
  open.narrow(1, context.config.sequence - block, block).fill_(false);
  return open;
}

double score_scale(const RankContext& context, int64_t head_size) {
  if (context.is(FaultName::kSoftmaxScale)) return 1.0 / static_cast<double>(head_size);
  return 1.0 / std::sqrt(static_cast<double>(head_size));
}

at::Tensor core_attention(RankContext& context, const Attention& attention, const at::Tensor& qkv,
                          const at::Tensor& mask) {
  const bool fused = context.config.fused_attention;
  const int64_t size = context.config.hidden / context.config.heads;
  const double scale = score_scale(context, size);
  nlohmann::json attributes{
      {"scale", scale}, {"causal", true}, {"heads", context.config.heads}, {"head_size", size}};
  if (!context.config.learned_positions) attributes["rotary_base"] = kRotaryBase;
  Site site;
  site.name =
      "decoder.layers." + std::to_string(attention.layer) + ".self_attention.core_attention";
  site.op = fused ? "fused_attention" : "composed_attention";
  site.layout = {.channels = context.config.hidden, .channels_sharded = context.config.tp > 1};
  site.attributes = attributes.dump();
  const at::Tensor masked = mask_of_layer(context, attention.layer, mask);
  tap_mask(context, site, masked);

  const int64_t tokens = qkv.size(0), samples = qkv.size(1);
  const at::Tensor heads = qkv.view({tokens, samples, -1, 3, size});
  at::Tensor query = heads.select(3, 0), key = heads.select(3, 1);
  if (!context.config.learned_positions) {
    query = rotate(query);
    key = rotate(key);
  }
  AttentionInputs inputs{query.permute({1, 2, 0, 3}), key.permute({1, 2, 0, 3}),
                         heads.select(3, 2).permute({1, 2, 0, 3}), masked.unsqueeze(1), scale};
  if (fused) inputs.masked = fused_mask(context, attention.layer, masked).unsqueeze(1);
  const at::Tensor result = fused ? fused_attention(inputs) : composed_attention(inputs);
  return site_output(context, site, result.permute({2, 0, 1, 3}).reshape({tokens, samples, -1}));
}

}  // namespace

at::Tensor attention_mask(const std::vector<int64_t>& lengths, int64_t sequence) {
  const at::Tensor beyond_query = at::ones({sequence, sequence}, at::kBool).triu(1);
  const at::Tensor length = at::tensor(lengths, at::kLong).view({-1, 1, 1});
  const at::Tensor beyond_length = at::arange(sequence, at::kLong).view({1, 1, -1}).ge(length);
  return beyond_query.unsqueeze(0).logical_or(beyond_length);
}

at::Tensor self_attention(RankContext& context, const Attention& attention, const at::Tensor& input,
                          const at::Tensor& masked) {
  const at::Tensor qkv = column_parallel(context, attention.qkv, input);
  return row_parallel(context, attention.proj, core_attention(context, attention, qkv, masked));
}

}  // namespace nanhunt::mini
