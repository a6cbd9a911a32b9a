// SPDX-License-Identifier: Apache-2.0
// What a report draws of a judgement besides its findings: how far every judged place of one step
// is off beside how far it may be, and the losses of all steps.
#pragma once

#include <vector>

#include "compare/deviations.h"
#include "compare/verdict.h"

namespace nanhunt::compare {

// Keeps the measurements of one step: of the first that has a finding; without any, of the step
// that came closest to a bound.
class Measurements {
 public:
  // After the step's rules ran. `comparisons`: nullptr where no logical tensors were compared.
  void add_step(const SideStep& candidate, const Comparisons* comparisons);
  // In happens-before order of the candidate.
  std::vector<Measurement> take() { return std::move(kept_); }

 private:
  std::vector<Measurement> kept_;
  double closest_ = -1;
  bool has_finding_ = false;
};

// Adds the losses of one step: logical tensors of one element in phase loss, whole or as sums over
// ranks and microbatches. FP64. `reference`: nullptr in a scan; what a side lacks stays empty.
void add_losses(std::vector<Loss>& losses, const SideStep& candidate, const SideStep* reference);

}  // namespace nanhunt::compare
