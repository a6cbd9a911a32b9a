// SPDX-License-Identifier: Apache-2.0
#include "compare/measurements.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "compare/loss_value.h"
#include "compare/reference_findings.h"

namespace nanhunt::compare {
namespace {

using oracle::Finding;
using oracle::Logical;

struct Placed {
  int position = 0;  // in happens-before order
  Measurement measurement;
};

int first_position(const SideStep& side, const std::vector<int>& records) {
  int first = std::numeric_limits<int>::max();
  for (const int record : records) first = std::min(first, side.order->position(record));
  return first;
}

int first_position(const SideStep& side, const Finding& finding) {
  std::vector<int> records;
  for (const auto& ref : finding.records) {
    if (const int index = side.find(ref); index >= 0) records.push_back(index);
  }
  return first_position(side, records);
}

std::string standing_of(const Comparison& pair, bool accused) {
  switch (pair.standing) {
    case Standing::kUnjudged:
      return "unjudged";
    case Standing::kWithin:
      return "within";
    case Standing::kUndecided:
      return "undecided";
    case Standing::kOut:
      return accused ? "out" : "excused";
  }
  return "";
}

void add_pairs(std::vector<Placed>& placed, const SideStep& side, const Comparisons& comparisons) {
  std::set<trace::What> accused;
  for (const Finding& finding : side.findings) {
    if (needs_reference(finding.rule)) accused.insert(finding.what);
  }
  for (const Comparison& pair : comparisons.pairs) {
    if (pair.standing == Standing::kUnjudged) continue;
    const auto index = static_cast<size_t>(pair.candidate);
    const trace::What& what = side.logicals[index].what;
    Measurement measurement{
        what,          pair.rule, unit_of(pair.metric), standing_of(pair, accused.contains(what)),
        pair.measured, pair.high};
    placed.push_back({first_position(side, side.holders[index]), std::move(measurement)});
  }
}

// One rule at one place, over ranks and microbatches: the largest.
void add_findings(std::vector<Placed>& placed, const SideStep& side, bool compared) {
  std::map<std::pair<trace::What, std::string>, Placed> worst;
  for (const Finding& finding : side.findings) {
    if (compared && needs_reference(finding.rule)) continue;  // told by its pair
    Placed mine{
        first_position(side, finding),
        {finding.what, finding.rule, finding.unit, "out", finding.measured, finding.allowed}};
    const auto [found, added] = worst.try_emplace({finding.what, finding.rule}, mine);
    if (added) continue;
    const int position = std::min(found->second.position, mine.position);
    if (excess(mine.measurement) > excess(found->second.measurement)) found->second = mine;
    found->second.position = position;
  }
  for (auto& [key, each] : worst) placed.push_back(std::move(each));
}

}  // namespace

void Measurements::add_step(const SideStep& candidate, const Comparisons* comparisons) {
  if (has_finding_) return;
  std::vector<Placed> placed;
  if (comparisons != nullptr) add_pairs(placed, candidate, *comparisons);
  add_findings(placed, candidate, comparisons != nullptr);
  double closest = -1;
  for (const Placed& each : placed) closest = std::max(closest, excess(each.measurement));
  has_finding_ = !candidate.findings.empty();
  if (!has_finding_ && closest <= closest_) return;
  closest_ = closest;
  std::ranges::stable_sort(placed, {}, &Placed::position);
  kept_.clear();
  for (Placed& each : placed) kept_.push_back(std::move(each.measurement));
}

void add_losses(std::vector<Loss>& losses, const SideStep& candidate, const SideStep* reference) {
  for (const Logical& logical : candidate.logicals) {
    if (logical.what.phase != trace::Phase::kLoss || logical.what.occurrence != 0) continue;
    const auto mine = loss_value(logical);
    if (!mine) continue;
    Loss loss{logical.what.step, logical.what.site, logical.what.role, *mine, {}};
    const Logical* other = reference != nullptr ? find_logical(*reference, logical.what) : nullptr;
    if (other != nullptr) loss.reference = loss_value(*other);
    losses.push_back(std::move(loss));
  }
}

}  // namespace nanhunt::compare
