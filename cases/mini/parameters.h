// SPDX-License-Identifier: Apache-2.0
// One rank's parameters: values in the training type, FP32 masters, moments and accumulated
// gradients. Each logical tensor is drawn whole (weights.h) and sliced, so all layouts start from
// the same model.
#pragma once

#include <ATen/core/Tensor.h>

#include <deque>
#include <string>
#include <vector>

#include "cases/mini/rank_context.h"

namespace nanhunt::mini {

struct Parameter {
  std::string name;  // "decoder.layers.3.mlp.linear_fc1.weight"
  ParameterLayout layout;
  // Each tp rank sees some of the tokens only: gradients are summed over tp at the end of the step.
  bool sequence_parallel = false;
  bool decays = false;  // weight decay: matrices only
  bool frozen = false;  // no gradient, no update

  at::Tensor value;       // leaf; FP32 storage, values of the training type
  at::Tensor master;      // FP32; without masters a copy of the value that the optimizer works on
  at::Tensor exp_avg;     // FP32
  at::Tensor exp_avg_sq;  // FP32
  at::Tensor main_grad;   // FP32; sum over this rank's microbatches, later over data parallelism

  bool norm_weight() const;
};

// How a parameter starts.
enum class Initial { kOnes, kNormal, kScaledNormal };  // scaled: std / sqrt(2 layers)

struct ParameterRequest {
  std::string name;
  ParameterLayout layout;
  Initial initial = Initial::kNormal;
  bool sequence_parallel = false;
};

class Parameters {
 public:
  // Draws, slices, moves by the calibration's ulp, rounds. The reference stays valid.
  Parameter& add(RankContext& context, const ParameterRequest& request);

  std::deque<Parameter>& in_model_order() { return list_; }
  const std::deque<Parameter>& in_model_order() const { return list_; }
  // As Megatron's gradient buffers hold them; without the frozen ones.
  std::vector<Parameter*> reversed();

 private:
  std::deque<Parameter> list_;
};

// A tap point of a parameter: site = its name.
hooks::TapPoint parameter_point(RankContext& context, const Parameter& parameter,
                                trace::Phase phase, const std::string& role,
                                const PartialOver& partial = {});

// Records `param` at the start of a step.
void tap_parameters(RankContext& context, Parameters& parameters);

}  // namespace nanhunt::mini
