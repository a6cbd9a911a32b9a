// SPDX-License-Identifier: Apache-2.0
#include "oracle/rules/updates_made.h"

#include <algorithm>
#include <array>

#include "oracle/adamw.h"
#include "oracle/rules/rule_tools.h"

namespace nanhunt::oracle {
namespace {

using Place = std::pair<int32_t, std::string>;
using trace::Phase;
using trace::Record;

bool same_bits(const Record* now, const Record* before) {
  if (now == nullptr || before == nullptr) return now == before;
  return now->raw_digest == before->raw_digest;
}

std::optional<double> count_of(const OptimizerState& state) {
  for (const Record* record : {state.param, state.master, state.exp_avg}) {
    if (record == nullptr) continue;
    if (const auto count = attribute(*record, "step")) return count;
  }
  return std::nullopt;
}

bool stands(const OptimizerState& now, const OptimizerState& before) {
  return count_of(now).has_value() && count_of(now) == count_of(before) &&
         same_bits(now.param, before.param) && same_bits(now.master, before.master) &&
         same_bits(now.exp_avg, before.exp_avg) && same_bits(now.exp_avg_sq, before.exp_avg_sq);
}

std::set<Place> with_gradient(const trace::Step& step) {
  std::set<Place> places;
  for (const Record& record : step.records) {
    const bool reduced =
        record.what.phase == Phase::kUnscaled || record.what.phase == Phase::kClipped;
    if (reduced && record.what.role == "grad") places.insert({record.where.rank, record.what.site});
  }
  return places;
}

}  // namespace

UpdatesMade::UpdatesMade(const RuleInput& input) {
  if (input.previous == nullptr || input.previous->step + 1 != input.step.step) return;
  const auto now = optimizer_states(input.step), before = optimizer_states(*input.previous);
  std::set<Place> standing;
  for (const auto& [place, state] : now) {
    const auto old = before.find(place);
    if (old != before.end() && stands(state, old->second)) standing.insert(place);
  }
  const auto counted =
      std::ranges::count_if(now, [](const auto& one) { return count_of(one.second).has_value(); });
  const bool all_stand = static_cast<size_t>(counted) == standing.size();
  const std::set<Place> gradients = with_gradient(input.step);
  for (const Place& place : standing) {
    if (all_stand || !gradients.contains(place)) left_alone_.insert(place);
  }
}

}  // namespace nanhunt::oracle
