// SPDX-License-Identifier: Apache-2.0
#include "compare/reference_findings.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "compare/held_parts.h"
#include "compare/numbers.h"

namespace nanhunt::compare {
namespace {

using oracle::Decider;
using oracle::Finding;

using oracle::Logical;

// " (token 5, sample 0)": an index into the dimensions [first, last) as the program names them.
std::string place_of(const trace::Record& record, const Logical& logical, size_t first, size_t last,
                     int64_t index) {
  std::vector<std::string> parts;
  for (size_t d = last; d-- > first;) {
    const int64_t extent = std::max<int64_t>(1, logical.shape[d]);
    if (record.placement && d < record.placement->axes.size())
      parts.push_back(record.placement->axes[d] + " " + std::to_string(index % extent));
    index /= extent;
  }
  std::ranges::reverse(parts);
  return parts.empty() ? "" : " (" + join(parts, ", ") + ")";
}

std::string worst_of_values(const SideStep& side, const Logical& logical,
                            const oracle::Deviation& deviation) {
  const trace::Record& record = side.record(logical.pieces.front().record);
  const size_t all = logical.shape.size(), leading = all == 0 ? 0 : all - 1;
  const auto worst = [&](const char* name, double value, int64_t index, size_t first, size_t last) {
    return ", worst " + std::string(name) + " " + short_number(value) + " at " + name + " " +
           std::to_string(index) + place_of(record, logical, first, last, index);
  };
  std::string text = worst("row", deviation.row, deviation.worst_row, 0, leading);
  if (deviation.column >= 0)
    text += worst("column", deviation.column, deviation.worst_column, leading, all);
  return text + worst("element", deviation.element, deviation.worst_element, 0, all);
}

std::string size_of(const Comparison& pair) {
  if (pair.metric != oracle::Metric::kOperands)
    return "||candidate - reference|| / ||reference|| = " + short_number(pair.deviation.norm);
  return "the reference is " + short_number(pair.deviation.reference) +
         ", 0 to within the rounding of its terms, of norm " + short_number(pair.scale) +
         "; ||candidate - reference|| = " + short_number(pair.deviation.difference);
}

std::string signs_of(const Comparison& pair, const Logical& logical) {
  const double mean = pair.deviation.sign / std::sqrt(static_cast<double>(logical.count));
  return "; of all values " + short_number(std::abs(mean)) + " more are off " +
         (mean < 0 ? "towards 0 than away from it" : "away from 0 than towards it");
}

std::string evidence_of(const SideStep& side, const Comparison& pair, bool told_apart) {
  if (pair.rule == kSameData) return "integer data differ from the reference";
  const Logical& logical = side.logicals[static_cast<size_t>(pair.candidate)];
  std::string text;
  if (pair.rule == kInitialState) {
    text = "value digest differs from the reference's; ";
  }
  text += size_of(pair);
  if (pair.deviation.row >= 0 && pair.metric != oracle::Metric::kOperands)
    text += worst_of_values(side, logical, pair.deviation);
  if (pair.metric == oracle::Metric::kSign) text += signs_of(pair, logical);
  if (pair.metric == oracle::Metric::kGrowth)
    text += "; its error is " + short_number(pair.measured) + " times that of its linked inputs";
  text += "; the " + std::string(name_of(pair.metric)) + " may be " + short_number(pair.high);
  if (!told_apart) text += "; the shards' holders cannot be told apart without values";
  return text;
}

void name_records(const SideStep& side, Finding& finding, const std::vector<int>& records) {
  std::set<int32_t> ranks;
  finding.records.clear();
  for (const int index : records) {
    const auto& where = side.record(index).where;
    finding.records.push_back({where.rank, where.sequence});
    ranks.insert(where.rank);
  }
  finding.ranks.assign(ranks.begin(), ranks.end());
}

// Copies that differ: the reference tells which.
void decide_copies(SideStep& candidate) {
  for (auto& finding : candidate.findings) {
    if (finding.decider != Decider::kNone || finding.rule != "replicas_equal") continue;
    std::vector<int> copies;
    for (const auto& ref : finding.records) {
      const int index = candidate.find(ref);
      if (index >= 0) copies.push_back(index);
    }
    const auto out = copies_out(candidate, copies);
    if (out.empty()) continue;
    name_records(candidate, finding, out);
    finding.decider = Decider::kReference;
    finding.evidence += "; the others agree with the reference";
  }
}

void rebuild_index(SideStep& side) {
  for (auto& list : side.findings_of) list.clear();
  for (size_t f = 0; f < side.findings.size(); ++f) {
    for (const auto& ref : side.findings[f].records) {
      const int index = side.find(ref);
      if (index >= 0) side.findings_of[static_cast<size_t>(index)].push_back(static_cast<int>(f));
    }
  }
}

}  // namespace

bool needs_reference(const std::string& rule) {
  return rule == kReferenceEnvelope || rule == kInitialState || rule == kSameData ||
         rule == kSameBits;
}

Finding finding_of(const SideStep& candidate, const Comparison& pair,
                   const std::vector<int>& records) {
  const auto& logical = candidate.logicals[static_cast<size_t>(pair.candidate)];
  const auto& holders = candidate.holders[static_cast<size_t>(pair.candidate)];
  Finding finding;
  finding.rule = pair.rule;
  finding.severity =
      pair.rule == kReferenceEnvelope ? oracle::Severity::kSuspicious : oracle::Severity::kProven;
  finding.what = logical.what;
  std::set<int32_t> microbatches;
  for (const int index : records) microbatches.insert(candidate.record(index).where.microbatch);
  if (microbatches.size() == 1) finding.microbatch = *microbatches.begin();
  name_records(candidate, finding, records);
  finding.decider = Decider::kReference;
  finding.measured = pair.rule == kSameData ? 1 : pair.measured;
  finding.allowed = pair.high;
  finding.unit = pair.rule == kSameData ? "tensors" : unit_of(pair.metric);
  const bool shards = pair.deviation.row < 0 && logical.pieces.size() > 1 && !logical.partial;
  finding.evidence = evidence_of(candidate, pair, !(shards && records.size() == holders.size()));
  return finding;
}

void add_reference_findings(SideStep& candidate, const SideStep& reference, const Judge& judge,
                            const Comparisons& comparisons) {
  for (const auto& pair : comparisons.pairs) {
    judge_parts(candidate, reference, judge, pair);
    if (pair.standing != Standing::kOut) continue;
    const auto& holders = candidate.holders[static_cast<size_t>(pair.candidate)];
    std::vector<int> out;
    std::ranges::copy_if(holders, std::back_inserter(out), [&](int index) {
      return candidate.judged[static_cast<size_t>(index)].standing == Standing::kOut;
    });
    candidate.add_finding(finding_of(candidate, pair, out.empty() ? holders : out));
  }
  decide_copies(candidate);
  rebuild_index(candidate);
}

}  // namespace nanhunt::compare
