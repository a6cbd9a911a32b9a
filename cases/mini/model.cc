// SPDX-License-Identifier: Apache-2.0
#include "cases/mini/model.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/gelu.h>

#include <nlohmann/json.hpp>

#include "cases/mini/autograd.h"
#include "cases/mini/cross_entropy.h"
#include "cases/mini/dropout.h"
#include "cases/mini/sample_split.h"
#include "cases/mini/sites.h"

namespace nanhunt::mini {
namespace {

at::Tensor residual_add(RankContext& context, const std::string& name, const at::Tensor& stream,
                        const at::Tensor& branch) {
  const Site site{
      name,
      "add",
      {.channels = context.config.hidden, .tokens_sharded = context.sequence_parallel()}};
  return site_output(context, site, stream + branch);
}

at::Tensor activation(RankContext& context, const std::string& name, const at::Tensor& input) {
  Site site{
      name, "gelu", {.channels = context.config.ffn, .channels_sharded = context.config.tp > 1}};
  if (context.is(FaultName::kGeluTanh)) {
    // 0.04 where the tanh form has 0.044715.
    const at::Tensor inner = 0.7978845608 * (input + 0.04 * input * input * input);
    return site_output(context, site, 0.5 * input * (1.0 + inner.tanh()));
  }
  if (context.config.gelu_tanh) site.attributes = R"({"tanh":true})";
  return site_output(context, site, at::gelu(input, context.config.gelu_tanh ? "tanh" : "none"));
}

at::Tensor run_block(RankContext& context, const Block& block, const at::Tensor& stream,
                     const at::Tensor& masked) {
  const std::string name = "decoder.layers." + std::to_string(block.layer);
  const at::Tensor attention =
      self_attention(context, block.attention, rms_norm(context, block.input_norm, stream), masked);
  const at::Tensor middle = residual_add(context, name + ".self_attn_bda", stream,
                                         dropout(context, name + ".self_attn_dropout", attention));
  const at::Tensor wide =
      column_parallel(context, block.fc1, rms_norm(context, block.pre_mlp_norm, middle));
  const at::Tensor mlp =
      row_parallel(context, block.fc2, activation(context, name + ".mlp.activation_func", wide));
  return residual_add(context, name + ".mlp_bda", middle,
                      dropout(context, name + ".mlp_dropout", mlp));
}

// The sum over the tokens that count, divided by their number in the whole step. Summed sample by
// sample in either layout of the head, so both give equal bits.
at::Tensor masked_mean(RankContext& context, const at::Tensor& token_loss,
                       const LocalBatch& batch) {
  const at::Tensor by_sample =
      context.config.batch_first ? token_loss : token_loss.t().contiguous();
  const at::Tensor loss =
      (by_sample * batch.loss_mask).sum() / static_cast<double>(batch.denominator);
  hooks::TapPoint point;
  point.site = "loss";
  point.phase = trace::Phase::kLoss;
  point.role = "loss";
  point.microbatch = context.microbatch;
  point.placement = context.placements.scalar({.dp = true, .microbatch = true});
  point.op = "masked_mean";
  point.attributes = nlohmann::json{{"denominator", batch.denominator}}.dump();
  return with_backward(
      {loss}, [&] { return context.taps.tap(point, loss.detach()); },
      [](const at::Tensor& gradient) -> std::vector<at::Tensor> { return {gradient}; });
}

at::Tensor tap_data(RankContext& context, const std::string& role, const at::Tensor& tensor) {
  hooks::TapPoint point;
  point.site = "data";
  point.role = role;
  point.microbatch = context.microbatch;
  point.placement = context.placements.activation({.batch_first = true}, context.microbatch);
  context.taps.tap(point, tensor);
  return tensor;
}

template <class T>
at::Tensor samples_of(const RankContext& context, const Batch& batch, const std::vector<T>& values,
                      at::ScalarType type) {
  const int64_t samples = samples_per_microbatch(context.config);
  const int64_t first =
      first_sample(context.config, context.mesh.dp_rank, context.microbatch) * batch.sequence;
  return at::from_blob(const_cast<T*>(values.data()) + first, {samples, batch.sequence}, type)
      .clone();
}

}  // namespace

LocalBatch local_batch(RankContext& context, const Batch& batch) {
  LocalBatch local;
  local.tokens = tap_data(context, "tokens", samples_of(context, batch, batch.tokens, at::kLong));
  local.labels = tap_data(context, "labels", samples_of(context, batch, batch.labels, at::kLong));
  local.loss_mask =
      tap_data(context, "loss_mask", samples_of(context, batch, batch.loss_mask, at::kFloat));
  const auto first = batch.lengths.begin() +
                     first_sample(context.config, context.mesh.dp_rank, context.microbatch);
  local.masked =
      attention_mask({first, first + samples_per_microbatch(context.config)}, batch.sequence);
  local.denominator = batch.valid_tokens;
  if (context.is(FaultName::kLossDenominator)) local.denominator -= batch.samples;
  return local;
}

at::Tensor forward_loss(RankContext& context, const Model& model, const LocalBatch& batch) {
  at::Tensor stream = embed(context, model.embedding, batch.tokens.t().contiguous());
  for (const Block& block : model.blocks) {
    stream = run_block(context, block, stream, batch.masked);
  }
  const at::Tensor logits =
      output_layer(context, model.output, rms_norm(context, model.final_norm, stream));
  const at::Tensor labels =
      context.config.batch_first ? batch.labels : batch.labels.t().contiguous();
  return masked_mean(context, cross_entropy(context, logits, labels), batch);
}

}  // namespace nanhunt::mini
