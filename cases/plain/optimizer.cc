// SPDX-License-Identifier: Apache-2.0
#include "cases/plain/optimizer.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace nanhunt::plain {
namespace {

using trace::Phase;

Point of_parameter(const Parameter& parameter, Phase phase, const std::string& role,
                   const std::string& op = "") {
  return {parameter.name, phase, role, parameter.axes, trace::DType::kFloat32, false, op};
}

Point of_optimizer(Phase phase, const std::string& role, const std::string& op = "",
                   const std::string& attributes = "") {
  return {"optimizer", phase, role, {}, trace::DType::kFloat32, false, op, attributes};
}

double global_norm(const Parameters& parameters) {
  double squares = 0;
  for (auto parameter = parameters.rbegin(); parameter != parameters.rend(); ++parameter) {
    for (const float g : parameter->gradient.values) squares += double{g} * g;
  }
  return std::sqrt(squares);
}

void clip(const Options& options, Parameters& parameters, double norm, hooks::RankTaps& taps) {
  std::vector<int64_t> sources;
  for (const Parameter& parameter : parameters) {
    const auto& records = parameter.gradient.records;
    sources.insert(sources.end(), records.begin(), records.end());
  }
  const auto norm_record =
      show_scalar(taps, of_optimizer(Phase::kClipped, "grad_norm", "grad_norm"), norm, sources);
  double factor = options.clip / (norm + 1e-6);
  if (factor > 1) factor = 1;
  Tensor factor_source;
  factor_source.records =
      show_scalar(taps,
                  of_optimizer(Phase::kClipped, "clip_factor", "clip_factor",
                               nlohmann::json{{"max_norm", options.clip}}.dump()),
                  factor, norm_record);
  for (auto parameter = parameters.rbegin(); parameter != parameters.rend(); ++parameter) {
    for (float& g : parameter->gradient.values) g = static_cast<float>(g * factor);
    show(taps, of_parameter(*parameter, Phase::kClipped, "grad", "clip"), parameter->gradient,
         {&parameter->gradient, &factor_source});
  }
}

double decay_of(const Options& options, const Parameter& parameter) {
  return parameter.master.shape.size() > 1 ? options.weight_decay : 0.0;
}

void adamw(const Options& options, Parameter& parameter, int64_t count) {
  const double correction1 = 1 - std::pow(options.beta1, static_cast<double>(count));
  const double correction2 = 1 - std::pow(options.beta2, static_cast<double>(count));
  const double keep = 1 - options.learning_rate * decay_of(options, parameter);
  for (size_t i = 0; i < parameter.master.size(); ++i) {
    const double g = parameter.gradient[i];
    float& m = parameter.exp_avg[i];
    float& v = parameter.exp_avg_sq[i];
    m = static_cast<float>(options.beta1 * m + (1 - options.beta1) * g);
    v = static_cast<float>(options.beta2 * v + (1 - options.beta2) * g * g);
    const double step = m / correction1 / (std::sqrt(v / correction2) + options.adam_eps);
    parameter.master[i] =
        static_cast<float>(parameter.master[i] * keep - options.learning_rate * step);
  }
}

void show_update(const Options& options, Parameter& parameter, int64_t count,
                 const Tensor& learning_rate, hooks::RankTaps& taps) {
  const std::string attributes = nlohmann::json{
      {"lr", options.learning_rate},
      {"beta1", options.beta1},
      {"beta2", options.beta2},
      {"eps", options.adam_eps},
      {"weight_decay", decay_of(options, parameter)},
      {"step", count}}.dump();
  const auto record = [&](const char* role, Tensor& tensor, trace::DType dtype,
                          const Sources& from) {
    Point point = of_parameter(parameter, Phase::kUpdate, role, "adamw");
    point.dtype = dtype;
    point.attributes = attributes;
    show(taps, point, tensor, from);
  };
  const Tensor before = parameter.value;
  record("exp_avg", parameter.exp_avg, trace::DType::kFloat32, {&parameter.gradient});
  record("exp_avg_sq", parameter.exp_avg_sq, trace::DType::kFloat32, {&parameter.gradient});
  record("master", parameter.master, trace::DType::kFloat32,
         {&parameter.exp_avg, &parameter.exp_avg_sq, &before, &learning_rate, &parameter.gradient});
  parameter.value.values = parameter.master.values;
  round_to(parameter.value, options.dtype);
  record("param", parameter.value, options.dtype, {&parameter.master});
}

}  // namespace

double optimizer_step(const Options& options, Parameters& parameters, int64_t count,
                      hooks::RankTaps& taps) {
  show_scalar(taps, of_optimizer(Phase::kUnscaled, "loss_scale"), 1.0, {});
  for (auto parameter = parameters.rbegin(); parameter != parameters.rend(); ++parameter) {
    show(taps, of_parameter(*parameter, Phase::kUnscaled, "grad"), parameter->gradient,
         {&parameter->gradient});
  }
  const double norm = global_norm(parameters);
  clip(options, parameters, norm, taps);
  Tensor learning_rate;
  learning_rate.records =
      show_scalar(taps, of_optimizer(Phase::kUpdate, "learning_rate"), options.learning_rate, {});
  for (auto parameter = parameters.rbegin(); parameter != parameters.rend(); ++parameter) {
    adamw(options, *parameter, count);
    show_update(options, *parameter, count, learning_rate, taps);
    parameter->gradient = zeros(parameter->gradient.shape);
  }
  return norm;
}

}  // namespace nanhunt::plain
