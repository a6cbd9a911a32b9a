// SPDX-License-Identifier: Apache-2.0
#include "oracle/adamw.h"

#include <algorithm>
#include <cmath>

#include "oracle/rules/rule_tools.h"

namespace nanhunt::oracle {

using trace::Record;

std::map<std::pair<int32_t, std::string>, OptimizerState> optimizer_states(
    const trace::Step& step) {
  std::map<std::pair<int32_t, std::string>, OptimizerState> found;
  for (const auto& record : step.records) {
    if (record.what.phase != trace::Phase::kUpdate) continue;
    OptimizerState& state = found[{record.where.rank, record.what.site}];
    if (record.what.role == "param") state.param = &record;
    if (record.what.role == "master") state.master = &record;
    if (record.what.role == "exp_avg") state.exp_avg = &record;
    if (record.what.role == "exp_avg_sq") state.exp_avg_sq = &record;
  }
  for (auto& [place, state] : found) {
    if (state.master == nullptr) state.master = state.param;
  }
  return found;
}

std::optional<Decay> keeps_adam_moments(const Record& record) {
  if (record.op == "adamw" || record.op == "fused_adamw") return Decay::kApart;
  if (record.op == "adam") return Decay::kInGradient;
  return std::nullopt;
}

bool divides_by_recorded_moment(const Record& update) {
  return keeps_adam_moments(update).has_value() && !says(update, "amsgrad");
}

std::optional<AdamW> adamw_of(const Record& master) {
  const auto lr = attribute(master, "lr"), beta1 = attribute(master, "beta1"),
             beta2 = attribute(master, "beta2"), eps = attribute(master, "eps"),
             decay = attribute(master, "weight_decay"), step = attribute(master, "step");
  if (!lr || !beta1 || !beta2 || !eps || !decay || !step) return std::nullopt;
  // Adam adds the decay to the gradient; other optimizers that have these numbers, and one that
  // divides by the largest second moment so far, are not these.
  const bool decays_gradient = keeps_adam_moments(master) == Decay::kInGradient && *decay != 0;
  if (decays_gradient || !divides_by_recorded_moment(master)) return std::nullopt;
  return AdamW{*lr, *beta1, *beta2, *eps, *decay, *step};
}

BiasCorrection bias_correction(const AdamW& optimizer, double step) {
  return {1 - std::pow(optimizer.beta1, step), 1 - std::pow(optimizer.beta2, step)};
}

std::optional<UpdateValues> update_values(const trace::TraceReader& reader,
                                          const OptimizerState& now, const OptimizerState& before) {
  for (const Record* record : {now.master, now.exp_avg, now.exp_avg_sq, before.master}) {
    if (record == nullptr || !record->has_values) return std::nullopt;
  }
  return UpdateValues{reader.read_doubles(*now.master), reader.read_doubles(*before.master),
                      reader.read_doubles(*now.exp_avg), reader.read_doubles(*now.exp_avg_sq)};
}

double worst_update(const UpdateValues& values, const Record& master, const AdamW& optimizer,
                    const BiasCorrection& correction) {
  const auto& [theta, old, m, v] = values;
  const double u = trace::unit_roundoff(master.compute);
  double worst = 0;
  const size_t count = std::min({theta.size(), old.size(), m.size(), v.size()});
  for (size_t i = 0; i < count; ++i) {
    if (!std::isfinite(theta[i]) || !std::isfinite(m[i]) || !std::isfinite(v[i])) continue;
    const double update = optimizer.lr * (m[i] / correction.first) /
                          (std::sqrt(v[i] / correction.second) + optimizer.eps);
    const double expected = old[i] * (1 - optimizer.lr * optimizer.weight_decay) - update;
    const double allowed =
        16 * u * (std::abs(old[i]) + std::abs(update)) + trace::min_subnormal(master.storage);
    worst = std::max(worst, std::abs(theta[i] - expected) / allowed);
  }
  return worst;
}

}  // namespace nanhunt::oracle
