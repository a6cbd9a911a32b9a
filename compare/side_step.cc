// SPDX-License-Identifier: Apache-2.0
#include "compare/side_step.h"

#include <algorithm>
#include <set>
#include <utility>

#include "oracle/rule.h"

namespace nanhunt::compare {

void SideStep::add_finding(oracle::Finding finding) {
  finding.side = side;
  for (const auto& ref : finding.records) {
    const int index = find(ref);
    if (index >= 0) {
      findings_of[static_cast<size_t>(index)].push_back(static_cast<int>(findings.size()));
    }
  }
  findings.push_back(std::move(finding));
}

SideStep make_side(const TraceSource& source, trace::Step step, oracle::Side side) {
  SideStep result;
  result.side = side;
  result.source = &source;
  result.step = std::make_unique<const trace::Step>(std::move(step));
  result.flow = std::make_unique<const Flow>(*result.step);
  result.order = std::make_unique<const Order>(*result.step, *result.flow);
  result.logicals = oracle::assemble(*result.step, source.facts);
  const size_t records = result.step->records.size();
  result.findings_of.resize(records);
  result.judged.resize(records);
  result.has_copies.assign(records, false);
  result.replay.by_record.assign(records, oracle::Replayed::kNot);
  result.logical_of.assign(records, -1);
  for (size_t l = 0; l < result.logicals.size(); ++l) {
    const auto& logical = result.logicals[l];
    for (const auto& copy : logical.copies) {
      for (const auto& piece : logical.pieces) {
        const auto& a =
            result.record(copy.record).placement->regions[static_cast<size_t>(copy.region)];
        const auto& b =
            result.record(piece.record).placement->regions[static_cast<size_t>(piece.region)];
        if (a.logical_start != b.logical_start || a.extent != b.extent) continue;
        result.has_copies[static_cast<size_t>(copy.record)] = true;
        result.has_copies[static_cast<size_t>(piece.record)] = true;
      }
    }
    const auto found = result.step->by_what().find(logical.what);
    result.holders.push_back(found == result.step->by_what().end() ? std::vector<int>{}
                                                                   : found->second);
    for (const int index : result.holders.back()) {
      result.logical_of[static_cast<size_t>(index)] = static_cast<int>(l);
    }
  }
  return result;
}

void run_rules(SideStep& side, bool replay, const trace::Step* previous,
               const oracle::Thresholds& thresholds) {
  const oracle::RuleInput input{*side.step, previous, side.source->reader, side.source->facts,
                                thresholds};
  for (auto& finding : oracle::check_rules(input)) side.add_finding(std::move(finding));
  if (!replay) return;
  side.replay = oracle::replay_step(input);
  for (auto& finding : std::exchange(side.replay.findings, {}))
    side.add_finding(std::move(finding));
}

const oracle::Logical* find_logical(const SideStep& side, const trace::What& what) {
  const auto found = std::lower_bound(
      side.logicals.begin(), side.logicals.end(), what,
      [](const oracle::Logical& logical, const trace::What& key) { return logical.what < key; });
  return found != side.logicals.end() && found->what == what ? &*found : nullptr;
}

std::vector<int> records_at(const SideStep& side, const std::string& site, trace::Phase phase,
                            const std::string& role) {
  trace::What what{side.step->step, site, phase, role, 0};
  std::vector<int> records;
  for (auto found = side.step->by_what().lower_bound(what); found != side.step->by_what().end();
       ++found) {
    const auto& key = found->first;
    if (key.site != site || key.phase != phase || key.role != role) break;
    records.insert(records.end(), found->second.begin(), found->second.end());
  }
  return records;
}

bool has_non_finite(const trace::Record& record) {
  return record.statistics.non_finite() > 0;
}

}  // namespace nanhunt::compare
