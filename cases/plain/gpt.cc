// SPDX-License-Identifier: Apache-2.0
#include "cases/plain/gpt.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "cases/plain/attention.h"
#include "cases/plain/layers.h"
#include "cases/plain/loss.h"

namespace nanhunt::plain {
namespace {

const std::vector<std::string> kChannelAxes = {"sample", "token", "channel"};

// What the backward pass of one block needs from its forward pass.
struct Block {
  std::string name;
  Tensor stream, attention_input, qkv, context, middle, mlp_input, wide, active;
};

class Pass {
 public:
  Pass(const Options& options, Parameters& parameters, Batch& batch, hooks::RankTaps& taps)
      : options_(options), parameters_(parameters), batch_(batch), taps_(taps) {}

  double run() {
    show_batch();
    Tensor stream = embed();
    for (int64_t layer = 0; layer < options_.layers; ++layer) {
      blocks_.push_back(forward("decoder.layers." + std::to_string(layer), stream));
      stream = std::move(next_stream_);
    }
    const Tensor normed = norm("decoder.final_layernorm", stream);
    const Tensor& table = value("embedding.word_embeddings.weight");
    Tensor logits = linear(normed, table, nullptr);
    output("output_layer", "linear", logits, {&normed, &table}, {"sample", "token", "vocabulary"});
    Loss loss = cross_entropy(taps_, logits, batch_);
    backward(loss.logits_gradient, normed, stream);
    return loss.value;
  }

 private:
  // ---- what every layer does at its declared points

  // Forward: round to the training type, record.
  void output(const std::string& site, const std::string& op, Tensor& tensor, const Sources& from,
              const std::vector<std::string>& axes = kChannelAxes,
              const std::string& attributes = "") {
    round_to(tensor, options_.dtype);
    show(taps_,
         {site, trace::Phase::kForward, "output", axes, options_.dtype, true, op, attributes},
         tensor, from);
  }

  // Backward: the same for a gradient.
  void gradient(const std::string& site, const std::string& role, Tensor& tensor,
                const Sources& from, const std::vector<std::string>& axes = kChannelAxes) {
    round_to(tensor, options_.dtype);
    show(taps_, {site, trace::Phase::kBackward, role, axes, options_.dtype}, tensor, from);
  }

  // A parameter's gradient: round, record, add to what the step has so far.
  void parameter_gradient(const std::string& name, Tensor tensor, const Sources& from) {
    Parameter& parameter = by_name(parameters_, name);
    round_to(tensor, options_.dtype);
    show(taps_, {name, trace::Phase::kBackward, "grad", parameter.axes, options_.dtype}, tensor,
         from);
    for (size_t i = 0; i < tensor.size(); ++i) parameter.gradient[i] += tensor[i];
    parameter.gradient.records = tensor.records;
  }

  const Tensor& value(const std::string& name) { return by_name(parameters_, name).value; }

  // ---- forward

  void show_batch() {
    const std::vector<int64_t> shape = {options_.global_batch, options_.sequence};
    show_tokens(taps_, "tokens", batch_.tokens, shape);
    show_tokens(taps_, "labels", batch_.labels, shape);
    Tensor mask{shape, batch_.loss_mask, {}};
    show(taps_, {"data", trace::Phase::kForward, "loss_mask", {"sample", "token"}}, mask, {});
  }

  Tensor embed() {
    const Tensor& words = value("embedding.word_embeddings.weight");
    Tensor stream = as_activation(look_up(batch_.tokens, words));
    output("embedding.word_embeddings", "embedding", stream, {&words});
    if (!options_.learned_positions) return stream;
    const Tensor& table = value("embedding.position_embeddings.weight");
    Tensor positions = as_activation(look_up(position_ids(), table));
    output("embedding.position_embeddings", "embedding", positions, {&table});
    Tensor sum = add(stream, positions);
    sum.records.insert(sum.records.end(), positions.records.begin(), positions.records.end());
    return sum;
  }

  Tensor norm(const std::string& site, const Tensor& x) {
    const Tensor& weight = value(site + ".weight");
    Tensor y = rms_norm(x, weight, options_.norm_eps);
    output(site, "rms_norm", y, {&x, &weight}, kChannelAxes,
           nlohmann::json{{"eps", options_.norm_eps}}.dump());
    return y;
  }

  Tensor dense(const std::string& site, const Tensor& x, bool has_bias) {
    const Tensor& weight = value(site + ".weight");
    const Tensor* bias = has_bias ? &value(site + ".bias") : nullptr;
    Tensor y = linear(x, weight, bias);
    Sources from = {&x, &weight};
    if (has_bias) from.push_back(bias);
    output(site, "linear", y, from);
    return y;
  }

  Tensor attend(const std::string& site, const Tensor& qkv) {
    show_attention_mask(site);
    Tensor context = attention(qkv, attention_shape());
    const double size = static_cast<double>(options_.hidden / options_.heads);
    output(site, "composed_attention", context, {&qkv}, kChannelAxes,
           nlohmann::json{
               {"scale", 1.0 / std::sqrt(size)}, {"causal", true}, {"heads", options_.heads}}
               .dump());
    return context;
  }

  Block forward(const std::string& name, const Tensor& stream) {
    Block block;
    block.name = name;
    block.stream = stream;
    block.attention_input = norm(name + ".input_layernorm", stream);
    block.qkv =
        dense(name + ".self_attention.linear_qkv", block.attention_input, options_.qkv_bias);
    block.context = attend(name + ".self_attention.core_attention", block.qkv);
    const Tensor projected = dense(name + ".self_attention.linear_proj", block.context, true);
    block.middle = add(stream, projected);
    output(name + ".self_attn_bda", "add", block.middle, {&stream, &projected});
    block.mlp_input = norm(name + ".pre_mlp_layernorm", block.middle);
    block.wide = dense(name + ".mlp.linear_fc1", block.mlp_input, true);
    block.active = gelu(block.wide);
    output(name + ".mlp.activation_func", "gelu", block.active, {&block.wide});
    const Tensor narrow = dense(name + ".mlp.linear_fc2", block.active, true);
    next_stream_ = add(block.middle, narrow);
    output(name + ".mlp_bda", "add", next_stream_, {&block.middle, &narrow});
    return block;
  }

  // ---- backward: in reverse; `g` is the gradient of what the name before it says

  void backward(Tensor g_logits, const Tensor& normed, const Tensor& last_stream) {
    const std::string table_name = "embedding.word_embeddings.weight";
    const Tensor& table = value(table_name);
    gradient("output_layer", "grad_output", g_logits, {&g_logits},
             {"sample", "token", "vocabulary"});
    Tensor g_normed = linear_input_gradient(g_logits, table, normed);
    gradient("output_layer", "grad_input", g_normed, {&g_logits, &table});
    const Tensor g_table_of_output = linear_weight_gradient(g_logits, normed);

    Tensor g_stream = norm_backward("decoder.final_layernorm", g_normed, last_stream);
    for (size_t i = blocks_.size(); i-- > 0;) g_stream = backward(blocks_[i], g_stream);

    if (options_.learned_positions) position_backward(g_stream);
    Tensor g_words = g_stream;
    gradient("embedding.word_embeddings", "grad_output", g_words, {&g_stream});
    const Tensor g_table = add(look_up_gradient(batch_.tokens, g_words, table), g_table_of_output);
    parameter_gradient(table_name, g_table, {&g_words, &g_logits, &normed});
  }

  // From the gradient of a block's output stream to that of its input stream.
  Tensor backward(const Block& block, const Tensor& from_above) {
    const std::string& name = block.name;
    Tensor g_out = from_above;
    gradient(name + ".mlp_bda", "grad_output", g_out, {&from_above});
    Tensor g_active = dense_backward(name + ".mlp.linear_fc2", g_out, block.active, Bias::kAfter);
    gradient(name + ".mlp.activation_func", "grad_output", g_active, {&g_active});
    Tensor g_wide = gelu_gradient(g_active, block.wide);
    g_wide.records = joined({&g_active, &block.wide});
    const Tensor g_mlp_input =
        dense_backward(name + ".mlp.linear_fc1", g_wide, block.mlp_input, Bias::kBefore);
    const Tensor g_through_mlp =
        norm_backward(name + ".pre_mlp_layernorm", g_mlp_input, block.middle);

    Tensor g_middle = add(g_out, g_through_mlp);
    gradient(name + ".self_attn_bda", "grad_output", g_middle, {&g_out, &g_through_mlp});
    Tensor g_context =
        dense_backward(name + ".self_attention.linear_proj", g_middle, block.context, Bias::kAfter);
    gradient(name + ".self_attention.core_attention", "grad_output", g_context, {&g_context});
    Tensor g_qkv = attention_gradient(g_context, block.qkv, attention_shape());
    g_qkv.records = joined({&g_context, &block.qkv});
    const Tensor g_attention_input =
        dense_backward(name + ".self_attention.linear_qkv", g_qkv, block.attention_input,
                       options_.qkv_bias ? Bias::kBefore : Bias::kNone);
    const Tensor g_through_attention =
        norm_backward(name + ".input_layernorm", g_attention_input, block.stream);
    Tensor g_stream = add(g_middle, g_through_attention);
    g_stream.records = joined({&g_middle, &g_through_attention});
    return g_stream;
  }

  // The bias belongs to the site's output (kBefore the output is declared) or is added to the
  // product whose gradient the site declares (kAfter); the values are the same.
  enum class Bias { kNone, kBefore, kAfter };

  Tensor dense_backward(const std::string& site, Tensor g, const Tensor& x, Bias bias) {
    const Tensor& weight = value(site + ".weight");
    gradient(site, "grad_output", g, {&g});
    if (bias != Bias::kNone) parameter_gradient(site + ".bias", bias_gradient(g), {&g});
    parameter_gradient(site + ".weight", linear_weight_gradient(g, x), {&g, &x});
    Tensor g_x = linear_input_gradient(g, weight, x);
    gradient(site, "grad_input", g_x, {&g, &weight});
    return g_x;
  }

  Tensor norm_backward(const std::string& site, Tensor g, const Tensor& x) {
    const Tensor& weight = value(site + ".weight");
    gradient(site, "grad_output", g, {&g});
    parameter_gradient(site + ".weight", rms_norm_weight_gradient(g, x, options_.norm_eps),
                       {&g, &x});
    Tensor g_x = rms_norm_input_gradient(g, x, weight, options_.norm_eps);
    gradient(site, "grad_input", g_x, {&g, &x, &weight});
    return g_x;
  }

  void position_backward(const Tensor& g_stream) {
    const std::string name = "embedding.position_embeddings.weight";
    Tensor g = g_stream;
    gradient("embedding.position_embeddings", "grad_output", g, {&g_stream});
    parameter_gradient(name, look_up_gradient(position_ids(), g, value(name)), {&g});
  }

  // ---- small helpers

  static std::vector<int64_t> joined(const Sources& sources) {
    std::vector<int64_t> records;
    for (const Tensor* source : sources) {
      records.insert(records.end(), source->records.begin(), source->records.end());
    }
    return records;
  }

  Tensor as_activation(Tensor rows) const {
    rows.shape = {options_.global_batch, options_.sequence, options_.hidden};
    return rows;
  }

  std::vector<int64_t> position_ids() const {
    std::vector<int64_t> ids;
    for (int64_t sample = 0; sample < options_.global_batch; ++sample) {
      for (int64_t t = 0; t < options_.sequence; ++t) ids.push_back(t);
    }
    return ids;
  }

  AttentionShape attention_shape() const {
    return {options_.heads, !options_.learned_positions, batch_.lengths};
  }

  // True where a query may not see a key.
  void show_attention_mask(const std::string& site) {
    std::vector<uint8_t> masked;
    for (const int64_t length : batch_.lengths) {
      for (int64_t q = 0; q < options_.sequence; ++q) {
        for (int64_t k = 0; k < options_.sequence; ++k) masked.push_back(k > q || k >= length);
      }
    }
    show_mask(taps_,
              {site,
               trace::Phase::kForward,
               "mask",
               {"sample", "query", "key"},
               trace::DType::kBool,
               true,
               "composed_attention",
               R"({"true":"masked"})"},
              masked, {options_.global_batch, options_.sequence, options_.sequence});
  }

  const Options& options_;
  Parameters& parameters_;
  Batch& batch_;
  hooks::RankTaps& taps_;
  std::vector<Block> blocks_;
  Tensor next_stream_;
};

}  // namespace

double forward_and_backward(const Options& options, Parameters& parameters, Batch& batch,
                            hooks::RankTaps& taps) {
  return Pass(options, parameters, batch, taps).run();
}

}  // namespace nanhunt::plain
