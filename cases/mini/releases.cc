// SPDX-License-Identifier: Apache-2.0
#include "cases/mini/releases.h"

namespace nanhunt::mini {
namespace {

bool changed(const Config& config, const Fault& fault, FaultName name) {
  return config.release > 1 && fault.name == name;
}

}  // namespace

void set_defaults(Config& config, const Fault& fault) {
  if (changed(config, fault, FaultName::kNormEpsDefault)) config.norm_eps = 1e-6;
  if (changed(config, fault, FaultName::kGeluDefault)) config.gelu_tanh = true;
  if (changed(config, fault, FaultName::kDropoutDefault)) config.dropout = 0.1;
}

std::string released_name(const Config& config, const Fault& fault, const std::string& name) {
  const std::string mlp = "decoder.layers." + std::to_string(fault.layer) + ".mlp.";
  if (!changed(config, fault, FaultName::kParameterRenamed) || name != mlp + "linear_fc1.weight")
    return name;
  return mlp + "up_proj.weight";
}

bool parameters_alone(const Config& config, const Fault& fault) {
  return config.capsules.parameters_alone || changed(config, fault, FaultName::kOptimizerNotLoaded);
}

}  // namespace nanhunt::mini
