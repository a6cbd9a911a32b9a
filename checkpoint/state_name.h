// SPDX-License-Identifier: Apache-2.0
// What a tensor of a checkpoint is in the names of capsules (docs/capsule.md): the parameter that
// it belongs to, and its role there.
//
//   model.layers.0.weight                       model.layers.0.weight   param
//   optimizer.state.layers.0.weight.exp_avg     layers.0.weight         exp_avg
//   module._orig_mod.layers.0.weight            layers.0.weight         param
#pragma once

#include <string>
#include <vector>

namespace nanhunt::checkpoint {

struct StateName {
  std::string site, role;
};

// "module." when each name begins with it, as DDP writes them; else "".
std::string common_wrapper(const std::vector<std::string>& names);
// `wrapper` is taken off the front, and parts that torch.compile, FSDP and activation checkpointing
// put in (hooks/python/nanhunt/names.py does the same). The role is "param" unless the last
// component is that of an optimizer's state.
StateName state_name(const std::string& name, const std::string& wrapper = "");

}  // namespace nanhunt::checkpoint
