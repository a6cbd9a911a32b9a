// SPDX-License-Identifier: Apache-2.0
// shards_tile: the pieces of a logical tensor cover it without gap or overlap, and no partial sum
// is missing. Judged only when every rank completed the step: a rank that died is incomplete, not
// wrong, and neither is a pass that a rank did not make.
#include <algorithm>
#include <set>
#include <utility>

#include "oracle/logical.h"
#include "oracle/mesh.h"
#include "oracle/rules/rule_tools.h"
#include "oracle/rules/rules.h"

namespace nanhunt::oracle {
namespace {

bool everything_is_there(const trace::Step& step) {
  return step.dropped.empty() &&
         std::ranges::all_of(step.progress, [](const trace::RankProgress& rank) {
           return rank.present && rank.complete;
         });
}

// A filter by rank leaves pieces out on purpose: then a what is missing on whole ranks. So does a
// rank that called a module in fewer passes than the step was said to have (an accumulation that
// ends early, a layer that is dropped at random): there is no shard that could be wrong. What this
// does to the gradients is for the reference to judge.
bool seen_everywhere(const trace::Step& step, const std::vector<int>& records, int32_t ranks,
                     int32_t microbatches) {
  std::set<std::pair<int32_t, int32_t>> seen;  // rank, microbatch
  bool of_step = false;
  for (const int index : records) {
    const auto& where = record_at(step, index).where;
    seen.emplace(where.rank, where.microbatch);
    of_step = of_step || where.microbatch < 0;
  }
  const int64_t passes = of_step ? 1 : microbatches;
  return static_cast<int64_t>(seen.size()) >= ranks * passes;
}

// Ranks whose parts of the batch differ in size: each has placed its own by the size of its own
// (batches of so many tokens, not samples), so a gap may lie between the counts and not the shards.
bool uneven_over_samples(const trace::Step& step, const Logical& logical) {
  std::set<int64_t> sizes;
  for (const Piece& piece : logical.pieces) {
    const trace::Placement& placement = *record_at(step, piece.record).placement;
    const auto axis = std::ranges::find(placement.axes, "sample");
    if (axis == placement.axes.end()) return false;
    const auto dim = static_cast<size_t>(axis - placement.axes.begin());
    sizes.insert(placement.regions[static_cast<size_t>(piece.region)].extent[dim]);
  }
  return sizes.size() > 1;
}

std::vector<Finding> check(const RuleInput& input) {
  std::vector<Finding> findings;
  if (!everything_is_there(input.step)) return findings;
  const auto ranks = static_cast<int32_t>(input.facts.size());
  const int32_t microbatches = Mesh(input.facts).size(trace::MeshAxis::kMicrobatch);
  for (const Logical& logical : assemble(input.step, input.facts)) {
    if (logical.complete || logical.pieces.empty()) continue;
    const auto& records = input.step.by_what().at(logical.what);
    if (!seen_everywhere(input.step, records, ranks, microbatches)) continue;
    if (uneven_over_samples(input.step, logical)) continue;
    Finding finding =
        finding_about(record_at(input.step, records.front()), "shards_tile", Severity::kProven);
    finding.records.clear();
    for (const int index : records) add_record(finding, record_at(input.step, index));
    finding.measured = static_cast<double>(logical.pieces.size());
    finding.unit = "pieces";
    finding.evidence = logical.why_not;
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace

Rule shards_tile() {
  return {"shards_tile", Severity::kProven, trace::Level::kStats,
          "shards cover the logical tensor without gap or overlap", check};
}

}  // namespace nanhunt::oracle
