// SPDX-License-Identifier: Apache-2.0
// How many seeds a convergence test needs, before a run is paid for: power (power.h) of a planned
// number of pairs at true difference 0, over margins in units of the differences' standard
// deviation, and the fewest pairs that reach power 0.8.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace nanhunt::repro {

struct PlanRow {
  double margin_over_sd = 0;
  double power = 0;
  std::optional<int> seeds;  // for power 0.8
};

struct Plan {
  int seeds = 0;
  double alpha = 0;
  std::vector<PlanRow> rows;  // margins from 0.5 to 4 sd
};

Plan make_plan(int seeds, double alpha);  // Error(kUsage) on an alpha outside (0, 0.5)
nlohmann::json to_json(const Plan& plan);
std::string to_text(const Plan& plan);

}  // namespace nanhunt::repro
