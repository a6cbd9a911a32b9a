// SPDX-License-Identifier: Apache-2.0
#include "compare/common_factor.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "compare/signatures/pairs.h"

namespace nanhunt::compare {
namespace {

constexpr size_t kFewest = 2;  // that share a ratio

struct Copy {
  int32_t rank = 0;
  trace::Sketch sketch{};
  double ratio = 1;
};

struct Scaled {
  int draft = 0;
  LogicalPair pair;
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

bool is_gradient_behind_reduction(const trace::What& what) {
  return what.role == "grad" &&
         (what.phase == trace::Phase::kUnscaled || what.phase == trace::Phase::kClipped);
}

std::optional<Scaled> scaled_reference(const SignatureInput& input, int draft) {
  const auto pair = logical_pair(input);
  const auto healthy = norm_bounds(input.judge, input.draft.origin.finding.what);
  if (!pair || !healthy) return std::nullopt;
  const auto& reference = pair->reference->print.sketch;
  if (trace::sketch_dot(reference, reference) == 0) return std::nullopt;
  const Fit fit = fit_sketches(pair->candidate->print.sketch, reference);
  Scaled result{draft, *pair, healthy->hi, fit.ratio, fit.left, 0, {}};
  for (const int index : input.draft.records) {
    const auto& record = input.side.record(index);
    if (pair->candidate->partial || !covers_all(record)) continue;
    const trace::Sketch sketch = print_of(record).sketch;
    const Fit copy = fit_sketches(sketch, reference);
    result.copies_left = std::max(result.copies_left, copy.left);
    result.copies.push_back({record.where.rank, sketch, copy.ratio});
  }
  return result;
}

double median(std::vector<double> of) {
  const auto middle = of.begin() + static_cast<std::ptrdiff_t>(of.size() / 2);
  std::ranges::nth_element(of, middle);
  return *middle;
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
  return one.ratio >= factor.least - one.healthy && one.ratio <= factor.most + one.healthy &&
         one.left <= one.healthy + (factor.most - factor.least) && one.copies_left <= one.healthy;
}

// How far it may have moved a rank's norm: its largest error, relative, with the factor taken off.
double error_without(const Scaled& one, const Factor& factor) {
  const auto& reference = one.pair.reference->print;
  const auto error = [&](const trace::Sketch& sketch, double ratio) {
    return sketch_distance(scaled(sketch, 1 / ratio), reference.sketch, reference);
  };
  double largest = error(one.pair.candidate->print.sketch, factor.ratio);
  for (const Copy& copy : one.copies) {
    largest = std::max(largest, error(copy.sketch, factor.of_rank.at(copy.rank)));
  }
  return largest;
}

}  // namespace

std::vector<PassedOn> passed_on_by_common_factor(const SideStep& candidate,
                                                 const SideStep& reference, const Judge& judge,
                                                 const std::vector<Draft>& drafts,
                                                 const std::vector<int>& origins) {
  std::vector<Scaled> gradients;
  for (const int index : origins) {
    const Draft& draft = drafts[static_cast<size_t>(index)];
    if (!is_gradient_behind_reduction(draft.origin.finding.what)) continue;
    const auto one = scaled_reference({candidate, &reference, judge, draft}, index);
    if (one) gradients.push_back(*one);
  }
  if (gradients.size() <= kFewest) return {};
  const Factor factor = factor_of(gradients);
  if (factor.least <= 0) return {};
  const double moved = std::max(std::abs(1 / factor.least - 1), std::abs(1 / factor.most - 1));
  const auto source = std::ranges::find_if(gradients, [&](const Scaled& one) {
    return !has_factor(one, factor) && error_without(one, factor) >= moved + one.healthy;
  });
  if (source == gradients.end()) return {};
  std::vector<PassedOn> result;
  for (const Scaled& one : gradients) {
    if (has_factor(one, factor)) result.push_back({one.draft, source->draft});
  }
  return result.size() < kFewest ? std::vector<PassedOn>{} : result;
}

}  // namespace nanhunt::compare
