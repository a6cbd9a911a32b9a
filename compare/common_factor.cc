// SPDX-License-Identifier: Apache-2.0
#include "compare/common_factor.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "compare/signatures/pairs.h"

namespace nanhunt::compare {
namespace {

struct Copy {
  int32_t rank = 0;
  trace::Sketch sketch{};
  double ratio = 1;
};

struct Scaled {
  const oracle::Logical *candidate = nullptr, *reference = nullptr;
  int draft = -1;      // the origin that it is
  double healthy = 0;  // upper bound of ||candidate - reference|| / ||reference||
  double ratio = 1;
  double left = 0;           // of the logical tensor
  double copies_left = 0;    // of each whole copy by its own ratio
  std::vector<Copy> copies;  // those
};

// The norm, and so the factor, may differ by rank.
struct Factor {
  double ratio = 1;                   // of logical tensors
  double least = 1, most = 1;         // over the ranks
  std::map<int32_t, double> of_rank;  // as far as there are whole copies
};

std::optional<Scaled> scaled_reference(const SideStep& candidate, const SideStep& reference,
                                       const Judge& judge, const oracle::Logical& mine) {
  const auto* other = find_logical(reference, mine.what);
  const auto healthy = norm_bounds(judge, mine.what);
  if (!healthy || other == nullptr || !has_ratio(mine, *other)) return std::nullopt;
  const auto& sketch = other->print.sketch;
  const Fit fit = fit_sketches(mine.print.sketch, sketch);
  Scaled result{&mine, other, -1, healthy->hi, fit.ratio, fit.left, 0, {}};
  for (const int index : candidate.step->by_what().at(mine.what)) {
    const auto& record = candidate.record(index);
    if (mine.partial || !covers_all(record)) continue;
    const trace::Sketch of_copy = print_of(record).sketch;
    const Fit copy = fit_sketches(of_copy, sketch);
    result.copies_left = std::max(result.copies_left, copy.left);
    result.copies.push_back({record.where.rank, of_copy, copy.ratio});
  }
  return result;
}

Factor factor_of(const std::vector<Scaled>& gradients) {
  std::vector<double> all;
  std::map<int32_t, std::vector<double>> of_rank;
  for (const Scaled& one : gradients) {
    all.push_back(one.ratio);
    for (const Copy& copy : one.copies) of_rank[copy.rank].push_back(copy.ratio);
  }
  Factor factor;
  factor.ratio = factor.least = factor.most = median(all);
  for (auto& [rank, ratios] : of_rank) {
    const double ratio = factor.of_rank[rank] = median(ratios);
    factor.least = std::min(factor.least, ratio);
    factor.most = std::max(factor.most, ratio);
  }
  return factor;
}

// Shards and shares of several ranks may have several factors.
bool has_factor(const Scaled& one, const Factor& factor) {
  const bool copies = std::ranges::all_of(one.copies, [&](const Copy& copy) {
    return std::abs(copy.ratio - factor.of_rank.at(copy.rank)) <= one.healthy;
  });
  return copies && one.copies_left <= one.healthy && one.ratio >= factor.least - one.healthy &&
         one.ratio <= factor.most + one.healthy &&
         one.left <= one.healthy + (factor.most - factor.least);
}

// How far it may have moved a rank's norm: its largest error, relative, with the factor taken off.
double error_without(const Scaled& one, const Factor& factor) {
  const auto& reference = one.reference->print;
  const auto error = [&](const trace::Sketch& sketch, double ratio) {
    return sketch_distance(scaled(sketch, 1 / ratio), reference.sketch, reference);
  };
  double largest = error(one.candidate->print.sketch, factor.ratio);
  for (const Copy& copy : one.copies) {
    largest = std::max(largest, error(copy.sketch, factor.of_rank.at(copy.rank)));
  }
  return largest;
}

std::vector<PassedOn> passed_on_in(std::vector<Scaled> gradients) {
  if (gradients.size() <= kFewestSharing) return {};
  const Factor factor = factor_of(gradients);
  if (factor.least <= 0) return {};
  const double moved = std::max(std::abs(1 / factor.least - 1), std::abs(1 / factor.most - 1));
  const auto sharing = static_cast<size_t>(
      std::ranges::count_if(gradients, [&](const Scaled& one) { return has_factor(one, factor); }));
  const auto source = std::ranges::find_if(gradients, [&](const Scaled& one) {
    return one.draft >= 0 && !has_factor(one, factor) &&
           error_without(one, factor) >= moved + one.healthy;
  });
  if (source == gradients.end() || sharing < kFewestSharing) return {};
  std::vector<PassedOn> result;
  for (const Scaled& one : gradients) {
    // A factor that cannot be told from a rounding explains nothing.
    if (one.draft < 0 || moved <= one.healthy || !has_factor(one, factor)) continue;
    result.push_back({one.draft, source->draft});
  }
  return result;
}

}  // namespace

std::vector<PassedOn> passed_on_by_common_factor(const SideStep& candidate,
                                                 const SideStep& reference, const Judge& judge,
                                                 const std::vector<Draft>& drafts,
                                                 const std::vector<int>& origins) {
  std::vector<PassedOn> result;
  for (const auto phase : {trace::Phase::kUnscaled, trace::Phase::kClipped}) {
    std::map<trace::What, int> draft_of;
    for (const int index : origins) {
      const trace::What& what = drafts[static_cast<size_t>(index)].origin.finding.what;
      if (is_gradient(what, phase)) draft_of.emplace(what, index);
    }
    if (draft_of.empty()) continue;
    std::vector<Scaled> gradients;
    for (const oracle::Logical& logical : candidate.logicals) {
      if (!is_gradient(logical.what, phase)) continue;
      auto one = scaled_reference(candidate, reference, judge, logical);
      if (!one) continue;
      const auto draft = draft_of.find(logical.what);
      if (draft != draft_of.end()) one->draft = draft->second;
      gradients.push_back(std::move(*one));
    }
    const auto more = passed_on_in(std::move(gradients));
    result.insert(result.end(), more.begin(), more.end());
  }
  return result;
}

}  // namespace nanhunt::compare
