// SPDX-License-Identifier: Apache-2.0
#include "compare/common_factor.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "compare/signatures/pairs.h"

namespace nanhunt::compare {
namespace {

constexpr size_t kFewest = 2;  // that share a ratio

struct Scaled {
  int draft = 0;
  LogicalPair pair;
  double healthy = 0;  // upper bound of ||candidate - reference|| / ||reference||
  double ratio = 1;
  double left = 0;         // of the logical tensor
  double copies_left = 0;  // of each copy by its own ratio: the norm, too, may differ by rank
};

bool is_gradient_behind_reduction(const trace::What& what) {
  return what.role == "grad" &&
         (what.phase == trace::Phase::kUnscaled || what.phase == trace::Phase::kClipped);
}

std::optional<Scaled> scaled_reference(const SignatureInput& input, int draft) {
  const auto pair = logical_pair(input);
  const auto healthy = norm_bounds(input.judge, input.draft.origin.finding.what);
  if (!pair || !healthy || pair->candidate->partial) return std::nullopt;
  const auto& reference = pair->reference->print.sketch;
  if (trace::sketch_dot(reference, reference) == 0) return std::nullopt;
  const Fit fit = fit_sketches(pair->candidate->print.sketch, reference);
  Scaled result{draft, *pair, healthy->hi, fit.ratio, fit.left, 0};
  for (const int index : input.draft.records) {
    const auto& record = input.side.record(index);
    if (!covers_all(record)) continue;
    const Fit copy = fit_sketches(print_of(record).sketch, reference);
    result.copies_left = std::max(result.copies_left, copy.left);
  }
  return result;
}

double median_ratio(std::vector<Scaled> of) {
  const auto middle = of.begin() + static_cast<std::ptrdiff_t>(of.size() / 2);
  std::ranges::nth_element(of, middle, {}, &Scaled::ratio);
  return middle->ratio;
}

bool has_ratio(const Scaled& one, double ratio) {
  return std::abs(one.ratio - ratio) <= one.healthy && one.left <= one.healthy &&
         one.copies_left <= one.healthy;
}

// How far it may have moved the norm: its error, relative, with the factor taken off.
double error_without(const Scaled& one, double factor) {
  const auto& reference = one.pair.reference->print;
  return sketch_distance(scaled(one.pair.candidate->print.sketch, 1 / factor), reference.sketch,
                         reference);
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
  const double factor = median_ratio(gradients);
  if (factor <= 0) return {};
  const double moved = std::abs(1 / factor - 1);
  const auto source = std::ranges::find_if(gradients, [&](const Scaled& one) {
    return !has_ratio(one, factor) && error_without(one, factor) >= moved + one.healthy;
  });
  if (source == gradients.end()) return {};
  std::vector<PassedOn> result;
  for (const Scaled& one : gradients) {
    if (has_ratio(one, factor)) result.push_back({one.draft, source->draft});
  }
  return result.size() < kFewest ? std::vector<PassedOn>{} : result;
}

}  // namespace nanhunt::compare
