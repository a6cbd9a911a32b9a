// SPDX-License-Identifier: Apache-2.0
#include "cases/mini/model.h"

namespace nanhunt::mini {
namespace {

enum class Split { kColumn, kRow };

ParameterLayout channels(int64_t size) { return {{"channel"}, {size}, -1}; }

// tp of 1 holds whole tensors.
int sharded(const RankContext& context, int dim) { return context.config.tp > 1 ? dim : -1; }

Parameter* add_norm(RankContext& context, Parameters& parameters, const std::string& site) {
  return &parameters.add(context,
                         {site + ".weight", channels(context.config.hidden), Initial::kOnes, true});
}

Linear add_linear(RankContext& context, Parameters& parameters, Linear linear, Split split,
                  bool bias) {
  const bool row = split == Split::kRow;
  linear.weight = &parameters.add(
      context, {linear.site + ".weight",
                {{"out", "in"}, {linear.outputs, linear.inputs}, sharded(context, row ? 1 : 0)},
                row ? Initial::kScaledNormal : Initial::kNormal});
  if (bias) {
    linear.bias =
        &parameters.add(context, {linear.site + ".bias",
                                  {{"out"}, {linear.outputs}, row ? -1 : sharded(context, 0)},
                                  Initial::kNormal,
                                  row});
  }
  return linear;
}

Block add_block(RankContext& context, Parameters& parameters, int64_t layer) {
  const Config& config = context.config;
  const std::string name = "decoder.layers." + std::to_string(layer);
  const int64_t hidden = config.hidden, ffn = config.ffn;
  Block block;
  block.layer = layer;
  block.input_norm = {name + ".input_layernorm",
                      add_norm(context, parameters, name + ".input_layernorm")};
  block.attention.layer = layer;
  block.attention.qkv = add_linear(
      context, parameters, {name + ".self_attention.linear_qkv", layer, 0, hidden, 3 * hidden},
      Split::kColumn, config.qkv_bias);
  block.attention.proj = add_linear(
      context, parameters, {name + ".self_attention.linear_proj", layer, 1, hidden, hidden},
      Split::kRow, true);
  block.pre_mlp_norm = {name + ".pre_mlp_layernorm",
                        add_norm(context, parameters, name + ".pre_mlp_layernorm")};
  block.fc1 = add_linear(context, parameters, {name + ".mlp.linear_fc1", layer, 2, hidden, ffn},
                         Split::kColumn, true);
  block.fc2 = add_linear(context, parameters, {name + ".mlp.linear_fc2", layer, 3, ffn, hidden},
                         Split::kRow, true);
  return block;
}

// As a stage of training left it that did update it.
void freeze(Parameter& parameter) {
  parameter.frozen = true;
  parameter.exp_avg.copy_(parameter.master).mul_(0.1);
  parameter.exp_avg_sq.copy_(parameter.exp_avg).square_();
}

}  // namespace

Model build_model(RankContext& context) {
  const Config& config = context.config;
  Model model;
  Parameters& parameters = model.parameters;
  model.embedding.words = &parameters.add(
      context,
      {"embedding.word_embeddings.weight",
       {{"vocabulary", "channel"}, {config.vocabulary, config.hidden}, sharded(context, 0)}});
  if (config.learned_positions) {
    model.embedding.positions =
        &parameters.add(context, {"embedding.position_embeddings.weight",
                                  {{"token", "channel"}, {config.sequence, config.hidden}},
                                  Initial::kNormal,
                                  true});
  }
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    model.blocks.push_back(add_block(context, parameters, layer));
  }
  model.final_norm = {"decoder.final_layernorm",
                      add_norm(context, parameters, "decoder.final_layernorm")};
  if (config.pooler != Pooler::kNone) {
    Parameter& pooler = parameters.add(
        context, {"pooler.weight", {{"out", "in"}, {config.hidden, config.hidden}, -1}});
    if (config.pooler == Pooler::kFrozen) freeze(pooler);
  }
  model.output = {"output_layer", -1, -1, config.hidden, config.vocabulary, model.embedding.words};
  return model;
}

}  // namespace nanhunt::mini
