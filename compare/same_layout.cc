// SPDX-License-Identifier: Apache-2.0
#include "compare/same_layout.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "compare/element_difference.h"
#include "compare/numbers.h"
#include "compare/reference_findings.h"
#include "compare/signatures/pairs.h"
#include "trace/error.h"

namespace nanhunt::compare {
namespace {

using Key = std::tuple<int32_t, trace::What, int32_t, int>;  // rank, what, microbatch, repeat

std::map<Key, int> index_of(const SideStep& side) {
  std::map<Key, int> index;
  for (size_t i = 0; i < side.step->records.size(); ++i) {
    const auto& record = side.step->records[i];
    Key key{record.where.rank, record.what, record.where.microbatch, 0};
    while (index.contains(key)) ++std::get<3>(key);
    index.emplace(std::move(key), static_cast<int>(i));
  }
  return index;
}

std::string kind_of(const trace::Record& record) {
  return trace::site_kind(record.what.site) + " " + std::string(trace::name_of(record.what.phase)) +
         " " + record.what.role;
}

// Relative norm of the difference, by sketches; -1 when that cannot be told.
double distance(const trace::Record& a, const trace::Record& b) {
  if (a.regions.size() != b.regions.size() || a.regions.empty()) return -1;
  const auto mine = print_of(a), other = print_of(b);
  if (mine.masked() || other.masked()) return -1;
  return sketch_distance(mine.sketch, other.sketch, other);
}

Judgement judge_record(const trace::Record& a, const trace::Record& b, const Judge& judge) {
  if (a.raw_digest == b.raw_digest && a.local_shape == b.local_shape) {
    return {Standing::kWithin, 0, 0};
  }
  if (judge.envelope == nullptr) return {Standing::kOut, std::max(0.0, distance(a, b)), 0};
  const auto bounds = norm_bounds(judge, a.what);
  const double norm = distance(a, b);
  if (!bounds || norm < 0) return {};
  return {stand(norm, bounds), norm, bounds->hi};
}

oracle::Finding difference_at(const SideStep& side, const std::vector<int>& records, bool bits) {
  const auto& first = side.record(records.front());
  oracle::Finding finding;
  finding.rule = bits ? kSameBits : kReferenceEnvelope;
  finding.severity = bits ? oracle::Severity::kProven : oracle::Severity::kSuspicious;
  finding.what = first.what;
  finding.microbatch = first.where.microbatch;
  finding.decider = oracle::Decider::kReference;
  std::set<int32_t> ranks;
  double worst = 0;
  for (const int index : records) {
    const auto& where = side.record(index).where;
    finding.records.push_back({where.rank, where.sequence});
    ranks.insert(where.rank);
    const auto& judged = side.judged[static_cast<size_t>(index)];
    worst = std::max(worst, judged.error);
    finding.allowed = judged.allowed;
  }
  finding.ranks.assign(ranks.begin(), ranks.end());
  finding.measured = bits ? static_cast<double>(records.size()) : worst;
  finding.unit = bits ? "records with other bits" : "relative norm";
  finding.evidence = "relative norm of the difference " + short_number(worst);
  return finding;
}

// The first difference is the one a reader looks at; reading the values of all would cost as much
// as a comparison by values.
void tell_elements(SideStep& candidate, int index, const SideStep& reference, int other) {
  const auto* mine = candidate.source->reader;
  const auto* theirs = reference.source->reader;
  if (mine == nullptr || theirs == nullptr) return;
  const std::string elements =
      element_difference(*mine, candidate.record(index), *theirs, reference.record(other));
  if (elements.empty()) return;
  for (const int finding : candidate.findings_of[static_cast<size_t>(index)]) {
    auto& told = candidate.findings[static_cast<size_t>(finding)];
    if (told.rule == kSameBits) told.evidence += "; " + elements;
  }
}

void require_same_layout(const SideStep& candidate, const SideStep& reference) {
  const int32_t mine = candidate.source->world_size, other = reference.source->world_size;
  if (mine == other) return;
  throw trace::Error(trace::ErrorKind::kUsage, "not the same layout: " + candidate.source->name +
                                                   " has " + std::to_string(mine) + " ranks, " +
                                                   reference.source->name + " has " +
                                                   std::to_string(other));
}

}  // namespace

SameLayout compare_records(SideStep& candidate, const SideStep& reference, const Judge& judge) {
  require_same_layout(candidate, reference);
  SameLayout result;
  const auto mine = index_of(candidate), other = index_of(reference);
  for (const auto& [key, index] : other) {
    if (!mine.contains(key)) ++result.only_reference[kind_of(reference.record(index))];
  }
  std::map<std::pair<trace::What, int32_t>, std::vector<int>> out;
  int first = -1, first_other = -1;
  for (const auto& [key, index] : mine) {
    const auto& record = candidate.record(index);
    const auto found = other.find(key);
    if (found == other.end()) {
      ++result.only_candidate[kind_of(record)];
      continue;
    }
    ++result.compared;
    auto& judged = candidate.judged[static_cast<size_t>(index)];
    judged = judge_record(record, reference.record(found->second), judge);
    if (judged.standing == Standing::kOut) {
      out[{record.what, record.where.microbatch}].push_back(index);
    }
    if (judged.standing == Standing::kWithin && judged.error == 0) continue;
    if (record.raw_digest == reference.record(found->second).raw_digest) continue;
    ++result.differing;
    const bool earlier =
        first < 0 || candidate.order->position(index) < candidate.order->position(first);
    if (earlier) first = index, first_other = found->second;
  }
  for (const auto& [place, records] : out) {
    candidate.add_finding(difference_at(candidate, records, judge.envelope == nullptr));
  }
  if (first >= 0) {
    tell_elements(candidate, first, reference, first_other);
    const auto& record = candidate.record(first);
    result.first_difference = describe(record.what) + ", rank " + std::to_string(record.where.rank);
  }
  return result;
}

}  // namespace nanhunt::compare
