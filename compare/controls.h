// SPDX-License-Identifier: Apache-2.0
// Negative controls of a comparison: the candidate held against itself must show no deviation, and
// a tensor of it that is not constant, with one region scaled by 1.5, must be out. A judge that
// fails either is not believed.
#pragma once

#include <string>

#include "compare/deviations.h"

namespace nanhunt::compare {

struct Controls {
  bool ran = false;  // false: no tensor to try them on
  bool passed = true;
  std::string failure;
};

Controls run_controls(const SideStep& candidate, const Judge& judge);

}  // namespace nanhunt::compare
