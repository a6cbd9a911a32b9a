// SPDX-License-Identifier: Apache-2.0
#include "repro/plan.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "compare/numbers.h"
#include "repro/equivalence.h"
#include "repro/power.h"

namespace nanhunt::repro {
namespace {

constexpr double kMargins[] = {0.5, 0.75, 1, 1.25, 1.5, 2, 3, 4};

std::string row_text(const PlanRow& row) {
  char text[96];
  std::snprintf(text, sizeof text, "  %9.2f  %5.2f  %s\n", row.margin_over_sd, row.power,
                row.seeds ? std::to_string(*row.seeds).c_str() : "-");
  return text;
}

}  // namespace

Plan make_plan(int seeds, double alpha) {
  require_alpha(alpha);
  Plan plan{seeds, alpha, {}};
  for (const double margin : kMargins) {
    plan.rows.push_back({margin, power({seeds, margin, alpha}), seeds_needed(margin, alpha)});
  }
  return plan;
}

nlohmann::json to_json(const Plan& plan) {
  nlohmann::json rows = nlohmann::json::array();
  for (const PlanRow& row : plan.rows) {
    rows.push_back({{"margin_over_sd", row.margin_over_sd},
                    {"power", row.power},
                    {"seeds_needed", row.seeds ? nlohmann::json(*row.seeds) : nlohmann::json()}});
  }
  return {{"schema", 1}, {"seeds", plan.seeds}, {"alpha", plan.alpha}, {"rows", rows}};
}

std::string to_text(const Plan& plan) {
  std::string text = "Plan: " + std::to_string(plan.seeds) + " pairs, each one-sided test at " +
                     compare::short_number(plan.alpha) +
                     "\n\n  margin/sd  power  seeds needed for " +
                     compare::short_number(kWantedPower) + "\n";
  for (const PlanRow& row : plan.rows) text += row_text(row);
  return text + "\nsd: of the paired differences, from A/A pairs. Power: at true difference 0.\n";
}

}  // namespace nanhunt::repro
