// SPDX-License-Identifier: Apache-2.0
// update_recomputed: parameters after the step.
//   stats  param is the master rounded to its type: ||param - master|| <= u_param ||master||
//   full   master (or the parameter that has none) = (1 - lr wd) master' - lr m_hat / (sqrt(v_hat)
//   + eps), m_hat = m / (1 - b1^t),
//          v_hat = v / (1 - b2^t), in FP64 from the captured moments and the master before; per
//          element |difference| <= 16 u (|master'| + |update|). (Loshchilov and Hutter, Decoupled
//          Weight Decay Regularization, 2019, algorithm 2.) The update is judged by this rule only.
#include <cmath>
#include <map>
#include <string>

#include "oracle/rules/rule_tools.h"
#include "oracle/rules/rules.h"

namespace nanhunt::oracle {
namespace {

using trace::Record;

struct State {
  const Record *param = nullptr, *master = nullptr, *exp_avg = nullptr, *exp_avg_sq = nullptr;
};

std::map<std::pair<int32_t, std::string>, State> states(const trace::Step& step) {
  std::map<std::pair<int32_t, std::string>, State> found;
  for (const auto& record : step.records) {
    if (record.what.phase != trace::Phase::kUpdate) continue;
    State& state = found[{record.where.rank, record.what.site}];
    if (record.what.role == "param") state.param = &record;
    if (record.what.role == "master") state.master = &record;
    if (record.what.role == "exp_avg") state.exp_avg = &record;
    if (record.what.role == "exp_avg_sq") state.exp_avg_sq = &record;
  }
  for (auto& [place, state] : found) {  // without a master the parameter is its own
    if (state.master == nullptr) state.master = state.param;
  }
  return found;
}

void check_rounding(const RuleInput& input, const State& state, std::vector<Finding>& findings) {
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

struct HyperParameters {
  double lr, beta1, beta2, eps, weight_decay, step;
};

std::optional<HyperParameters> hyper_parameters(const Record& master) {
  const auto lr = attribute(master, "lr"), beta1 = attribute(master, "beta1"),
             beta2 = attribute(master, "beta2"), eps = attribute(master, "eps"),
             decay = attribute(master, "weight_decay"), step = attribute(master, "step");
  if (!lr || !beta1 || !beta2 || !eps || !decay || !step) return std::nullopt;
  // Adam adds the decay to the gradient, and other optimizers that have these numbers are not
  // these.
  const bool adam = master.op == "adam" && *decay == 0;
  if (!adam && master.op.find("adamw") == std::string::npos) return std::nullopt;
  return HyperParameters{*lr, *beta1, *beta2, *eps, *decay, *step};
}

bool all_have_values(const State& now, const State& before) {
  for (const Record* record : {now.master, now.exp_avg, now.exp_avg_sq, before.master}) {
    if (record == nullptr || !record->has_values) return false;
  }
  return true;
}

// Largest |difference| / allowed over the elements.
double worst_ratio(const trace::TraceReader& reader, const State& now, const State& before,
                   const HyperParameters& h) {
  const auto theta = reader.read_doubles(*now.master), old = reader.read_doubles(*before.master),
             m = reader.read_doubles(*now.exp_avg), v = reader.read_doubles(*now.exp_avg_sq);
  const double u = trace::unit_roundoff(now.master->compute);
  const double correction1 = 1 - std::pow(h.beta1, h.step),
               correction2 = 1 - std::pow(h.beta2, h.step);
  double worst = 0;
  for (size_t i = 0; i < theta.size() && i < old.size(); ++i) {
    if (!std::isfinite(theta[i]) || !std::isfinite(m[i]) || !std::isfinite(v[i])) continue;
    const double update = h.lr * (m[i] / correction1) / (std::sqrt(v[i] / correction2) + h.eps);
    const double expected = old[i] * (1 - h.lr * h.weight_decay) - update;
    const double allowed =
        16 * u * (std::abs(old[i]) + std::abs(update)) + trace::min_subnormal(now.master->storage);
    worst = std::max(worst, std::abs(theta[i] - expected) / allowed);
  }
  return worst;
}

void check_values(const RuleInput& input, const State& now, const State& before,
                  std::vector<Finding>& findings) {
  if (input.reader == nullptr || !all_have_values(now, before)) return;
  const auto hyper = hyper_parameters(*now.master);
  if (!hyper) return;
  const double ratio = worst_ratio(*input.reader, now, before, *hyper);
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
  const auto now = states(input.step);
  const bool follows = input.previous != nullptr && input.previous->step + 1 == input.step.step;
  const auto before = follows ? states(*input.previous) : decltype(now){};
  for (const auto& [place, state] : now) {
    check_rounding(input, state, findings);
    const auto old = before.find(place);
    if (old != before.end()) check_values(input, state, old->second, findings);
  }
  return findings;
}

}  // namespace

Rule update_recomputed() {
  return {"update_recomputed", Severity::kProven, trace::Level::kStats,
          "parameters after the step are AdamW's update, rounded", check};
}

}  // namespace nanhunt::oracle
