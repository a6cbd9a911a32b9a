// SPDX-License-Identifier: Apache-2.0
// Results of `nanhunt repro`, made by hand.
#pragma once

#include "report/result.h"

namespace nanhunt::report::test {

struct Seeds {
  int pairs = 5;
  int steps = 20;
  double shift = 0;  // of the losses of B
  int lost = 0;      // so many of the last pairs are NaN at the last step, on side B
};
repro::Convergence convergence_of(const Seeds& seeds);

// State different, replay not judged.
LevelResult level_result();
// The texts of both try to leave their place in the page.
repro::Convergence hostile_convergence();
LevelResult hostile_levels();

// The same as written to a file and read again.
repro::Convergence through_file(const repro::Convergence& result);
LevelResult through_file(const LevelResult& result);

}  // namespace nanhunt::report::test
