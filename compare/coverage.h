// SPDX-License-Identifier: Apache-2.0
// What a verdict rests on, counted step by step: sites, collectives, ranks, records compared, and
// what was not there, not placed, or not judged.
#pragma once

#include <map>
#include <set>
#include <string>

#include "compare/deviations.h"
#include "compare/same_layout.h"
#include "compare/verdict.h"

namespace nanhunt::compare {

class CoverageCount {
 public:
  // `reference` and `comparisons` are nullptr in a scan.
  void add_step(const SideStep& candidate, const SideStep* reference,
                const Comparisons* comparisons);
  void add_same_layout(const SameLayout& step);
  // A step of the candidate that the reference does not have.
  void missing_reference_step(int64_t step);
  // reference: nullptr in a scan.
  Coverage finish(const TraceSource& candidate, const TraceSource* reference) const;

  // Differing pairs that had no envelope, so that nobody can tell.
  int64_t differing_unjudged() const { return differing_unjudged_; }

 private:
  void count_side(const SideStep& side);
  void count_comparisons(const SideStep& candidate, const SideStep& reference,
                         const Comparisons& comparisons);

  Coverage coverage_;
  std::set<std::string> expected_sites_;
  std::map<std::string, int64_t> missing_, extra_, unjudged_, dropped_, not_replayed_;
  std::set<int32_t> ranks_;
  int64_t differing_unjudged_ = 0;
};

// Whether a run fact of this name says what a rank's capture had to leave out: regions that no hook
// sees ("coverage.compiled"), sites that were asked for and never met ("filter.unmatched"), tensors
// that were refused ("tap.skipped.SITE.ROLE"), process groups whose ranks are unknown.
bool tells_what_is_not_captured(const std::string& fact);

}  // namespace nanhunt::compare
