// SPDX-License-Identifier: Apache-2.0
#include "cases/plain/parameters.h"

#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "cases/plain/draws.h"
#include "trace/check.h"

namespace nanhunt::plain {
namespace {

at::ScalarType scalar_type(trace::DType dtype) {
  if (dtype == trace::DType::kBFloat16) return at::kBFloat16;
  return dtype == trace::DType::kFloat16 ? at::kHalf : at::kFloat;
}

void move_by_ulp(Parameter& parameter, trace::DType dtype, hooks::RankTaps& taps) {
  const auto& plan = taps.recorder().plan().perturbation;
  if (!taps.on() || !plan || !plan->ulp_parameters) return;
  Tensor& master = parameter.master;
  at::Tensor moved =
      at::from_blob(master.values.data(), master.shape, at::kFloat).to(scalar_type(dtype)).clone();
  taps.perturb_parameter(parameter.name, moved);
  const at::Tensor wide = moved.to(at::kFloat).contiguous();
  std::copy_n(wide.data_ptr<float>(), master.size(), master.values.begin());
}

class Maker {
 public:
  Maker(const Options& options, hooks::RankTaps& taps) : options_(options), taps_(taps) {}

  void norm(const std::string& site) {
    Tensor ones = zeros({options_.hidden});
    std::fill(ones.values.begin(), ones.values.end(), 1.0f);
    keep(site + ".weight", {"channel"}, std::move(ones));
  }

  void table(const std::string& name, const std::string& axis, int64_t rows) {
    keep(name, {axis, "channel"},
         drawn_weight(name, {rows, options_.hidden}, options_.init_std, options_.seed));
  }

  // `into_stream`: the layer adds to the residual stream, so it starts smaller.
  void linear(const std::string& site, int64_t outputs, int64_t inputs, bool bias,
              bool into_stream) {
    const double depth = std::sqrt(2.0 * static_cast<double>(options_.layers));
    const double deviation = into_stream ? options_.init_std / depth : options_.init_std;
    keep(site + ".weight", {"out", "in"},
         drawn_weight(site + ".weight", {outputs, inputs}, deviation, options_.seed));
    if (!bias) return;
    keep(site + ".bias", {"out"},
         drawn_weight(site + ".bias", {outputs}, options_.init_std, options_.seed));
  }

  Parameters take() { return std::move(parameters_); }

 private:
  void keep(std::string name, std::vector<std::string> axes, Tensor start) {
    Parameter parameter{std::move(name),    std::move(axes),   start, {}, zeros(start.shape),
                        zeros(start.shape), zeros(start.shape)};
    move_by_ulp(parameter, options_.dtype, taps_);
    parameter.value = parameter.master;
    round_to(parameter.value, options_.dtype);
    parameters_.push_back(std::move(parameter));
  }

  const Options& options_;
  hooks::RankTaps& taps_;
  Parameters parameters_;
};

}  // namespace

Parameters make_parameters(const Options& options, hooks::RankTaps& taps) {
  Maker maker(options, taps);
  const int64_t hidden = options.hidden;
  maker.table("embedding.word_embeddings.weight", "vocabulary", options.vocabulary);
  if (options.learned_positions) {
    maker.table("embedding.position_embeddings.weight", "token", options.sequence);
  }
  for (int64_t layer = 0; layer < options.layers; ++layer) {
    const std::string name = "decoder.layers." + std::to_string(layer);
    maker.norm(name + ".input_layernorm");
    maker.linear(name + ".self_attention.linear_qkv", 3 * hidden, hidden, options.qkv_bias, false);
    maker.linear(name + ".self_attention.linear_proj", hidden, hidden, true, true);
    maker.norm(name + ".pre_mlp_layernorm");
    maker.linear(name + ".mlp.linear_fc1", options.ffn, hidden, true, false);
    maker.linear(name + ".mlp.linear_fc2", hidden, options.ffn, true, true);
  }
  maker.norm("decoder.final_layernorm");
  return maker.take();
}

Parameter& by_name(Parameters& parameters, const std::string& name) {
  const auto found = std::find_if(parameters.begin(), parameters.end(),
                                  [&](const Parameter& p) { return p.name == name; });
  NANHUNT_CHECK(found != parameters.end());
  return *found;
}

void show_parameters(Parameters& parameters, hooks::RankTaps& taps, trace::DType dtype) {
  for (Parameter& parameter : parameters) {
    const Point point{
        parameter.name,         trace::Phase::kForward, "param", parameter.axes, dtype,
        /*in_microbatch=*/false};
    show(taps, point, parameter.value, {});
  }
}

}  // namespace nanhunt::plain
