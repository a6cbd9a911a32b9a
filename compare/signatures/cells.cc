// SPDX-License-Identifier: Apache-2.0
#include "compare/signatures/cells.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "compare/region_cells.h"
#include "compare/signatures/pairs.h"
#include "oracle/replay/recompute.h"

namespace nanhunt::compare {
namespace {

// Of the deterministic bound: what is out of it is no borderline case.
constexpr double kReplayBound = 2;

std::function<double(int64_t)> window_on(const SideStep& side, const oracle::Logical& logical) {
  const auto window = std::make_shared<LogicalWindow>(side, logical);
  return [window](int64_t index) { return window->at(index); };
}

Cells cells_on(const SideStep& side, const oracle::Logical& logical) {
  Cells cells;
  cells.shape = logical.shape;
  cells.axes = side.record(logical.pieces.front().record).placement->axes;
  cells.count = static_cast<int64_t>(logical.count);
  cells.found = window_on(side, logical);
  return cells;
}

bool is_non_finite(const SignatureInput& input) {
  return input.draft.origin.finding.rule == "non_finite";
}

std::optional<Cells> non_finite_cells(const SignatureInput& input) {
  const auto* logical = find_logical(input.side, input.draft.origin.finding.what);
  if (logical == nullptr || !has_values(input.side, *logical)) return std::nullopt;
  return cells_on(input.side, *logical);
}

std::optional<Cells> replayed_cells(const SignatureInput& input) {
  const auto& record = input.side.record(input.draft.record);
  const auto* reader = input.side.source->reader;
  // The bound of codes takes their scale.
  if (reader == nullptr || trace::is_fp8(record.storage)) return std::nullopt;
  std::string why_not;
  const auto result =
      oracle::recompute(oracle::ReplayIndex(*input.side.step), *reader, record, why_not);
  if (!result) return std::nullopt;
  auto tensor = oracle::read_tensor(*reader, record);
  Cells cells;
  cells.shape = tensor.shape;
  cells.axes = tensor.axes;
  cells.count = tensor.size();
  const auto values = std::make_shared<const std::vector<double>>(std::move(tensor.values));
  const auto expected = std::make_shared<const oracle::Recomputed>(*result);
  cells.found = [values](int64_t i) { return (*values)[static_cast<size_t>(i)]; };
  cells.expected = [expected](int64_t i) { return expected->values[static_cast<size_t>(i)]; };
  const double inside = result->roundings * trace::unit_roundoff(record.compute);
  const double outside = trace::unit_roundoff(record.storage);
  const double least = trace::min_subnormal(record.storage);
  cells.allowed = [=](int64_t i) {
    const auto at = static_cast<size_t>(i);
    return kReplayBound *
           (inside * expected->magnitudes[at] + outside * std::abs(expected->values[at]) + least);
  };
  return cells;
}

std::optional<Cells> compared_cells(const SignatureInput& input) {
  const auto pair = logical_pair(input);
  if (!pair || !has_values(input.side, *pair->candidate) ||
      !has_values(*input.reference, *pair->reference)) {
    return std::nullopt;
  }
  Cells cells = cells_on(input.side, *pair->candidate);
  cells.expected = window_on(*input.reference, *pair->reference);
  const auto& finding = input.draft.origin.finding;
  if (finding.rule == "initial_state" || finding.rule == "same_data") {
    const auto expected = window_on(*input.reference, *pair->reference);
    const double relative = finding.allowed;
    cells.allowed = [=](int64_t i) { return relative * std::abs(expected(i)); };
    return cells;
  }
  if (input.judge.envelope == nullptr || !by_envelope(finding.what.phase)) return std::nullopt;
  const auto bounds =
      input.judge.envelope->bounds(finding.what, oracle::Metric::kElement,
                                   input.judge.deviations_judged, *input.judge.thresholds);
  if (!bounds) return std::nullopt;
  const double allowed = bounds->hi * std::sqrt(pair->reference->print.sum_squares /
                                                static_cast<double>(pair->reference->count));
  cells.allowed = [=](int64_t) { return allowed; };
  return cells;
}

}  // namespace

bool Cells::wrong(int64_t index) const {
  const double value = found(index);
  if (!expected) return !std::isfinite(value);
  return !(std::abs(value - expected(index)) <= allowed(index));
}

int64_t Cells::stride(size_t dimension) const {
  int64_t stride = 1;
  for (size_t d = dimension + 1; d < shape.size(); ++d) stride *= shape[d];
  return stride;
}

int Cells::dimension(const std::string& axis) const {
  const auto found_axis = std::ranges::find(axes, axis);
  return found_axis == axes.end() ? -1 : static_cast<int>(found_axis - axes.begin());
}

std::optional<Cells> cells_of(const SignatureInput& input) {
  if (is_non_finite(input)) return non_finite_cells(input);
  if (input.draft.origin.finding.rule == oracle::kLocalReplay) return replayed_cells(input);
  return compared_cells(input);
}

double log_chance(int64_t some, int64_t drawn, int64_t all) {
  if (drawn > some) return -HUGE_VAL;
  const auto log_factorial = [](int64_t n) { return std::lgamma(static_cast<double>(n) + 1); };
  return log_factorial(some) - log_factorial(some - drawn) - log_factorial(all) +
         log_factorial(all - drawn);
}

}  // namespace nanhunt::compare
