// SPDX-License-Identifier: Apache-2.0
#include "cases/mini/adamw.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/bitwise_and.h>

#include <nlohmann/json.hpp>

#include "cases/mini/autograd.h"
#include "cases/mini/clip.h"

namespace nanhunt::mini {
namespace {

constexpr int32_t kHighHalf = ~0xFFFF;  // of FP32's bits: BF16, rounded toward zero

struct Recorded {
  RankContext& context;
  const Parameter& parameter;
  std::string op, attributes;

  // A tap that follows an update in place.
  void tap(const std::string& role, at::Tensor& tensor, const std::vector<int64_t>& links,
           trace::DType dtype = trace::DType::kFloat32) const {
    hooks::TapPoint point = parameter_point(context, parameter, trace::Phase::kUpdate, role);
    point.op = op;
    point.attributes = attributes;
    point.rounded_to = dtype;
    if (!context.config.masters && role == "param") point.compute = dtype;
    const at::Tensor tapped = context.taps.tap(point, tensor, links);
    if (!tapped.is_same(tensor)) tensor.copy_(tapped);
  }
};

// The weight as the training type holds it.
at::Tensor stored(const RankContext& context, const Parameter& parameter) {
  const Config& config = context.config;
  const bool breaks = context.is(FaultName::kHighHalfKept) && config.tp > 1 && parameter.decays &&
                      config.dtype == trace::DType::kBFloat16;
  if (!breaks) return rounded(parameter.master, config.dtype);
  return at::bitwise_and(parameter.master.view(at::kInt), kHighHalf).view(at::kFloat);
}

std::string attributes_of(const Config& config, const Parameter& parameter, int64_t count) {
  return nlohmann::json{{"lr", config.learning_rate},
                        {"beta1", config.beta1},
                        {"beta2", config.beta2},
                        {"eps", config.adam_eps},
                        {"weight_decay", weight_decay_of(config, parameter)},
                        {"step", count}}
      .dump();
}

}  // namespace

double weight_decay_of(const Config& config, const Parameter& parameter) {
  return parameter.decays ? config.weight_decay : 0.0;
}

void update_parameters(RankContext& context, const OptimizerGradients& gradients, int64_t count) {
  const at::NoGradGuard no_grad;
  const Config& config = context.config;
  // Links before the update: its ops write to the same memory.
  std::vector<std::vector<int64_t>> links;
  for (size_t i = 0; i < gradients.parameters.size(); ++i) {
    links.push_back(context.taps.carried(gradients.gradients[i]));
  }
  const int64_t rate = context.taps.scalar(
      optimizer_point(context, trace::Phase::kUpdate, "learning_rate"), config.learning_rate);
  if (!config.masters) {
    for (Parameter* parameter : gradients.parameters) parameter->master.copy_(parameter->value);
  }
  (config.fused_adamw ? adamw_fused : adamw_plain)(config, gradients, count);
  for (size_t i = 0; i < gradients.parameters.size(); ++i) {
    Parameter& parameter = *gradients.parameters[i];
    const Recorded recorded{context, parameter, config.fused_adamw ? "fused_adamw" : "adamw",
                            attributes_of(config, parameter, count)};
    recorded.tap("exp_avg", parameter.exp_avg, links[i]);
    recorded.tap("exp_avg_sq", parameter.exp_avg_sq, links[i]);
    at::Tensor value = parameter.value.detach();
    std::vector<int64_t> consumed = context.taps.carried(parameter.exp_avg);
    for (const at::Tensor& tensor : {parameter.exp_avg_sq, value}) {
      const std::vector<int64_t> carried = context.taps.carried(tensor);
      consumed.insert(consumed.end(), carried.begin(), carried.end());
    }
    consumed.push_back(rate);
    consumed.insert(consumed.end(), links[i].begin(), links[i].end());
    if (config.masters) {
      recorded.tap("master", parameter.master, consumed);
      consumed = context.taps.carried(parameter.master);
    }
    value.copy_(stored(context, parameter));
    recorded.tap("param", value, consumed, config.dtype);
  }
}

}  // namespace nanhunt::mini
