// SPDX-License-Identifier: Apache-2.0
// One rank's training run.
#pragma once

#include <functional>
#include <string>

#include "cases/mini/capsules.h"

namespace nanhunt::mini {

struct StepResult {
  int64_t step = 0;
  double loss = 0, grad_norm = 0;
};

// Trains on the text up to config.steps, from config.first_step on, which a run that goes on from
// a capsule has loaded. `capsule`: where the state before steps is written; nullptr: nowhere. NaN
// does not stop it.
void train(RankContext& context, const std::string& text, hooks::RankCapsule* capsule,
           const std::function<void(const StepResult&, const Model&)>& on_step);

}  // namespace nanhunt::mini
