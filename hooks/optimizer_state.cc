// SPDX-License-Identifier: Apache-2.0
#include "hooks/optimizer_state.h"

#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/sgd.h>

#include <nlohmann/json.hpp>

namespace nanhunt::hooks {
namespace {

using Json = nlohmann::json;
using torch::optim::Optimizer;

template <class State>
const State* state_of(const Optimizer& optimizer, const at::Tensor& parameter) {
  const auto& states = optimizer.state();
  const auto found = states.find(parameter.unsafeGetTensorImpl());
  return found == states.end() ? nullptr : dynamic_cast<const State*>(found->second.get());
}

const torch::optim::OptimizerOptions* options_of(Optimizer& optimizer,
                                                 const at::Tensor& parameter) {
  for (auto& group : optimizer.param_groups()) {
    for (const at::Tensor& member : group.params()) {
      if (member.is_same(parameter)) return &group.options();
    }
  }
  return nullptr;
}

void add_moment(ParameterUpdate& update, const char* role, const at::Tensor& moment) {
  if (moment.defined()) update.moments.emplace_back(role, moment);
}

template <class Options, class State>
bool read_adam(const char* op, const torch::optim::OptimizerOptions* base, Optimizer& optimizer,
               const at::Tensor& parameter, ParameterUpdate& update) {
  const auto* options = dynamic_cast<const Options*>(base);
  if (options == nullptr) return false;
  update.op = op;
  Json attributes{{"lr", options->lr()},
                  {"beta1", std::get<0>(options->betas())},
                  {"beta2", std::get<1>(options->betas())},
                  {"eps", options->eps()},
                  {"weight_decay", options->weight_decay()},
                  {"amsgrad", options->amsgrad()}};
  if (const State* state = state_of<State>(optimizer, parameter)) {
    attributes["step"] = state->step();
    add_moment(update, "exp_avg", state->exp_avg());
    add_moment(update, "exp_avg_sq", state->exp_avg_sq());
    add_moment(update, "max_exp_avg_sq", state->max_exp_avg_sq());
  }
  update.attributes = attributes.dump();
  return true;
}

bool read_sgd(const torch::optim::OptimizerOptions* base, Optimizer& optimizer,
              const at::Tensor& parameter, ParameterUpdate& update) {
  const auto* options = dynamic_cast<const torch::optim::SGDOptions*>(base);
  if (options == nullptr) return false;
  update.op = "sgd";
  update.attributes = Json{{"lr", options->lr()},
                           {"momentum", options->momentum()},
                           {"dampening", options->dampening()},
                           {"weight_decay", options->weight_decay()},
                           {"nesterov", options->nesterov()}}
                          .dump();
  if (const auto* state = state_of<torch::optim::SGDParamState>(optimizer, parameter)) {
    add_moment(update, "momentum", state->momentum_buffer());
  }
  return true;
}

}  // namespace

ParameterUpdate update_of(Optimizer& optimizer, const at::Tensor& parameter) {
  ParameterUpdate update;
  const auto* options = options_of(optimizer, parameter);
  if (options == nullptr) return update;
  using namespace torch::optim;
  // Not else: each reader looks whether the options are its own.
  read_adam<AdamWOptions, AdamWParamState>("adamw", options, optimizer, parameter, update) ||
      read_adam<AdamOptions, AdamParamState>("adam", options, optimizer, parameter, update) ||
      read_sgd(options, optimizer, parameter, update);
  return update;
}

}  // namespace nanhunt::hooks
