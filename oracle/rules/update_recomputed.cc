// SPDX-License-Identifier: Apache-2.0
// update_recomputed: parameters after the step.
//   stats  param is the master rounded to its type: ||param - master|| <= u_param ||master||
//   full   master (or the parameter that has none) = (1 - lr wd) master' - lr m_hat / (sqrt(v_hat)
//   + eps), m_hat = m / (1 - b1^t),
//          v_hat = v / (1 - b2^t), in FP64 from the captured moments and the master before; per
//          element |difference| <= 16 u (|master'| + |update|). (Loshchilov and Hutter, Decoupled
//          Weight Decay Regularization, 2019, algorithm 2.) The update is judged by this rule only.
#include <cmath>
#include <string>

#include "oracle/adamw.h"
#include "oracle/rules/rule_tools.h"
#include "oracle/rules/rules.h"
#include "oracle/rules/updates_made.h"

namespace nanhunt::oracle {
namespace {

using trace::Record;

void check_rounding(const RuleInput& input, const OptimizerState& state,
                    std::vector<Finding>& findings) {
  if (state.param == nullptr || state.master == state.param) return;
  const Record &param = *state.param, &master = *state.master;
  if (param.regions.size() != master.regions.size() || param.statistics.non_finite() > 0 ||
      master.statistics.non_finite() > 0) {
    return;
  }
  trace::Sketch difference{};
  for (size_t r = 0; r < param.regions.size(); ++r) {
    for (size_t b = 0; b < difference.size(); ++b) {
      difference[b] += param.regions[r].sketch[b] - master.regions[r].sketch[b];
    }
  }
  const double allowed =
      input.thresholds["sketch_widening"] * trace::unit_roundoff(param.storage) *
          std::sqrt(master.statistics.sum_squares) +
      std::sqrt(static_cast<double>(param.statistics.count)) * trace::min_subnormal(param.storage);
  const double measured = trace::sketch_norm(difference);
  if (measured <= allowed) return;
  Finding finding = finding_about(param, "update_recomputed", Severity::kProven);
  finding.decider = Decider::kRecomputation;
  finding.measured = measured;
  finding.allowed = allowed;
  finding.unit = "norm";
  finding.evidence = "rank " + std::to_string(param.where.rank) +
                     ": is not the master rounded to " + std::string(trace::name_of(param.storage));
  findings.push_back(std::move(finding));
}

void check_values(const RuleInput& input, const OptimizerState& now, const OptimizerState& before,
                  std::vector<Finding>& findings) {
  if (input.reader == nullptr || now.master == nullptr) return;
  const auto optimizer = adamw_of(*now.master);
  if (!optimizer) return;
  const auto values = update_values(*input.reader, now, before);
  if (!values) return;
  const double ratio =
      worst_update(*values, *now.master, *optimizer, bias_correction(*optimizer, optimizer->step));
  if (ratio <= 1) return;
  Finding finding = finding_about(*now.master, "update_recomputed", Severity::kProven);
  finding.decider = Decider::kRecomputation;
  finding.measured = ratio;
  finding.allowed = 1;
  finding.unit = "of the bound, worst element";
  finding.evidence = "rank " + std::to_string(now.master->where.rank) +
                     ": is not AdamW's update of the master before it";
  findings.push_back(std::move(finding));
}

std::vector<Finding> check(const RuleInput& input) {
  std::vector<Finding> findings;
  const auto now = optimizer_states(input.step);
  const bool follows = input.previous != nullptr && input.previous->step + 1 == input.step.step;
  const auto before = follows ? optimizer_states(*input.previous) : decltype(now){};
  const UpdatesMade updates(input);
  for (const auto& [place, state] : now) {
    check_rounding(input, state, findings);
    const auto old = before.find(place);
    if (old != before.end() && updates.made(place.first, place.second))
      check_values(input, state, old->second, findings);
  }
  return findings;
}

}  // namespace

Rule update_recomputed() {
  return {"update_recomputed", Severity::kProven, trace::Level::kStats,
          "parameters after the step are AdamW's update, rounded", check};
}

}  // namespace nanhunt::oracle
