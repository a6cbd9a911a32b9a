// SPDX-License-Identifier: Apache-2.0
// Clipping by the global norm couples all gradients: one that is wrong makes the norm wrong, and
// the norm scales all others by one factor. Where a job clips by itself, its gradients are first
// seen behind that, and all of them at once. So: origins among a step's reduced or clipped
// gradients that are the reference times one common ratio, what is left being healthy, were passed
// on from the first that is not. A factor that is off by f takes an error of at least f in some
// gradient: |norm - norm'| <= ||g - g'||. Where all have the ratio, the factor itself is wrong, and
// they stay.
#pragma once

#include <vector>

#include "compare/deviations.h"
#include "compare/origins.h"

namespace nanhunt::compare {

// Origin `draft` was passed on from origin `source`.
struct PassedOn {
  int draft = 0;
  int source = 0;
};

// Of these new origins of the candidate's step, in happens-before order.
std::vector<PassedOn> passed_on_by_common_factor(const SideStep& candidate,
                                                 const SideStep& reference, const Judge& judge,
                                                 const std::vector<Draft>& drafts,
                                                 const std::vector<int>& origins);

}  // namespace nanhunt::compare
