// SPDX-License-Identifier: Apache-2.0
#include "compare/coverage.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "compare/numbers.h"
#include "compare/reference_findings.h"

namespace nanhunt::compare {
namespace {

std::string kind_of(const trace::What& what) {
  return trace::site_kind(what.site) + " " + std::string(trace::name_of(what.phase)) + " " +
         what.role;
}

// Operands and results of collectives exist where a group has more than one rank, by layout.
bool by_layout(const trace::What& what) {
  return what.phase == trace::Phase::kPreCollective || what.phase == trace::Phase::kPostCollective;
}

std::vector<std::string> lines_of(const std::map<std::string, int64_t>& counts) {
  std::vector<std::string> lines;
  for (const auto& [text, count] : counts)
    lines.push_back(text + " (" + std::to_string(count) + ")");
  return lines;
}

constexpr std::array<std::string_view, 4> kOfCapture = {"coverage.", "filter.unmatched",
                                                        "tap.skipped.", "collectives.group."};

// Each statement once, with the ranks that make it.
void add_not_captured(const TraceSource& source, const std::string& whose,
                      std::vector<std::string>& lines) {
  std::map<std::string, std::vector<std::string>> ranks;
  for (const auto& facts : source.facts) {
    for (const auto& [key, value] : facts.facts) {
      if (!tells_what_is_not_captured(key) || value.empty()) continue;
      // Those of the kind `coverage.` are sentences by themselves.
      const std::string text = key.starts_with(kOfCapture[0]) ? value : key + ": " + value;
      ranks[text].push_back(std::to_string(facts.rank));
    }
  }
  for (const auto& [text, of] : ranks) {
    const bool all = of.size() == source.facts.size();
    lines.push_back(text + whose + (all ? "" : " (rank " + join(of, " ") + ")"));
  }
}

// Of a rank that died by itself: launchers end the others by SIGTERM or SIGINT, or these close when
// their program gives up.
bool died_by_itself(const trace::RankProgress& progress) {
  if (progress.cut == trace::CutReason::kException) return true;
  return progress.cut == trace::CutReason::kSignal && progress.cut_detail != "SIGTERM" &&
         progress.cut_detail != "SIGINT";
}

// A rank that dies takes others with it, in calls that they made later.
bool first_to_die(const trace::RankProgress& a, const trace::RankProgress& b) {
  const bool first = died_by_itself(a), second = died_by_itself(b);
  return first != second ? first : first && a.last_sequence < b.last_sequence;
}

}  // namespace

bool tells_what_is_not_captured(const std::string& fact) {
  return std::any_of(kOfCapture.begin(), kOfCapture.end(),
                     [&](std::string_view name) { return fact.starts_with(name); });
}

void CoverageCount::count_side(const SideStep& side) {
  std::set<std::string> fired;
  for (const auto& record : side.step->records) {
    fired.insert(record.what.site);
    const bool unknown = !record.placement || trace::is_unknown(*record.placement);
    coverage_.unknown_placements += unknown;
  }
  expected_sites_.insert(fired.begin(), fired.end());
  coverage_.sites_fired += static_cast<int64_t>(fired.size());
  coverage_.records += static_cast<int64_t>(side.step->records.size());
  coverage_.collectives += static_cast<int64_t>(side.step->collectives.size());
  coverage_.collectives_matched += side.flow->matched_calls();
  coverage_.steps.push_back(side.step->step);
  for (const auto& logical : side.logicals) {
    coverage_.unseen_regions += !logical.complete && logical.why_not.ends_with("are in no region");
  }
  auto ends = side.step->progress;
  std::ranges::stable_sort(ends, first_to_die);
  for (const auto& progress : ends) {
    if (progress.present) ranks_.insert(progress.rank);
    const std::string text = trace::describe_progress(progress);
    if (!text.empty()) {
      coverage_.incomplete.push_back("step " + std::to_string(side.step->step) + ": " + text);
    }
  }
  for (const auto& [reason, count] : side.step->dropped) dropped_[reason] += count;
  coverage_.replayed += side.replay.replayed;
  for (const auto& [reason, count] : side.replay.not_replayed) not_replayed_[reason] += count;
}

void CoverageCount::count_comparisons(const SideStep& candidate, const SideStep& reference,
                                      const Comparisons& comparisons) {
  for (const auto& record : reference.step->records) expected_sites_.insert(record.what.site);
  coverage_.records_compared += comparisons.compared;
  for (const int index : comparisons.only_candidate) {
    const auto& what = candidate.logicals[static_cast<size_t>(index)].what;
    if (!by_layout(what)) ++extra_[kind_of(what)];
  }
  for (const int index : comparisons.only_reference) {
    const auto& what = reference.logicals[static_cast<size_t>(index)].what;
    if (!by_layout(what)) ++missing_[kind_of(what)];
  }
  for (const auto& pair : comparisons.pairs) {
    const auto& what = candidate.logicals[static_cast<size_t>(pair.candidate)].what;
    if (pair.standing != Standing::kUnjudged || pair.why_not == kByRulesOnly) continue;
    ++unjudged_[kind_of(what) + ": " + pair.why_not];
    differing_unjudged_ += pair.deviation.comparable && pair.rule == kReferenceEnvelope;
  }
}

void CoverageCount::add_step(const SideStep& candidate, const SideStep* reference,
                             const Comparisons* comparisons) {
  count_side(candidate);
  if (reference != nullptr && comparisons != nullptr) {
    count_comparisons(candidate, *reference, *comparisons);
  }
}

void CoverageCount::add_same_layout(const SameLayout& step) {
  coverage_.records_compared += step.compared;
  for (const auto& [kind, count] : step.only_candidate) extra_[kind] += count;
  for (const auto& [kind, count] : step.only_reference) missing_[kind] += count;
}

void CoverageCount::missing_reference_step(int64_t step) {
  ++unjudged_["step " + std::to_string(step) + ": the reference does not have it"];
}

Coverage CoverageCount::finish(const TraceSource& candidate, const TraceSource* reference) const {
  Coverage coverage = coverage_;
  coverage.sites_expected = static_cast<int64_t>(expected_sites_.size() * coverage.steps.size());
  coverage.ranks_expected = candidate.world_size;
  coverage.ranks_present = static_cast<int32_t>(ranks_.size());
  coverage.missing = lines_of(missing_);
  coverage.extra = lines_of(extra_);
  coverage.unjudged = lines_of(unjudged_);
  coverage.not_replayed = lines_of(not_replayed_);
  coverage.dropped = lines_of(dropped_);
  add_not_captured(candidate, "", coverage.not_captured);
  if (reference != nullptr) add_not_captured(*reference, " [reference]", coverage.not_captured);
  return coverage;
}

}  // namespace nanhunt::compare
