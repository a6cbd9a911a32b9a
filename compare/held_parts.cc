// SPDX-License-Identifier: Apache-2.0
#include "compare/held_parts.h"

#include <algorithm>
#include <cmath>

#include "compare/region_cells.h"

namespace nanhunt::compare {
namespace {

using oracle::Logical;
using oracle::Piece;

double error_of(const Comparison& pair) {
  if (pair.deviation.equal) return 0;
  return pair.metric == oracle::Metric::kOperands ? pair.measured : pair.deviation.norm;
}

// What no part of a tensor has more of than another.
bool is_of_the_whole(oracle::Metric metric) {
  return metric == oracle::Metric::kSign || metric == oracle::Metric::kGrowth;
}

double healthy_growth(const Judge& judge, const trace::What& what) {
  if (judge.envelope == nullptr) return 1;
  const double growth = judge.envelope->healthy(what, oracle::Metric::kGrowth).value_or(1);
  return growth > 0 ? growth : 1;
}

bool same_box(const SideStep& side, const Piece& a, const Piece& b) {
  const auto& one = side.record(a.record).placement->regions[static_cast<size_t>(a.region)];
  const auto& two = side.record(b.record).placement->regions[static_cast<size_t>(b.region)];
  return one.logical_start == two.logical_start && one.extent == two.extent;
}

// The norm metric of one record's cells against the reference's: ||d|| / ||reference|| over its own
// regions, or ||d|| / scale where there is one. A batch's values are `divisor` times the logical
// ones. Bounded memory but for the record's own values.
double own_norm(const SideStep& candidate, int index, LogicalWindow& reference, double divisor,
                double scale) {
  const auto& record = candidate.record(index);
  const auto values = candidate.source->reader->read_doubles(record);
  double difference = 0, size = 0;
  for (size_t r = 0; r < record.regions.size(); ++r) {
    for_each_cell(record, static_cast<int>(r), [&](int64_t logical, int64_t local) {
      const double expected = reference.at(logical);
      const double delta = values[static_cast<size_t>(local)] / divisor - expected;
      difference += delta * delta;
      size += expected * expected;
    });
  }
  if (difference == 0) return 0;
  if (scale > 0) return std::sqrt(difference) / scale;
  return size > 0 ? std::sqrt(difference / size) : HUGE_VAL;
}

// Norm metric when `copy` stands in for the piece of the same region.
double norm_with_copy(const SideStep& candidate, const Logical& logical, const Piece& piece,
                      const Piece& copy, const trace::RegionPrint& reference) {
  trace::Sketch sketch = logical.print.sketch;
  const auto& old_print = candidate.record(piece.record).regions[static_cast<size_t>(piece.region)];
  const auto& new_print = candidate.record(copy.record).regions[static_cast<size_t>(copy.region)];
  for (int j = 0; j < trace::kSketchBuckets; ++j) {
    sketch[j] += (new_print.sketch[j] - old_print.sketch[j]) / logical.divisor;
  }
  const double size = std::sqrt(reference.sum_squares);
  const double norm = trace::sketch_norm(trace::subtract(sketch, reference.sketch));
  return size > 0 ? norm / size : (norm > 0 ? HUGE_VAL : 0);
}

// Exact judgements (no bounds) of a copy: the same digest as the reference, or not.
Judgement judge_norm(double norm, const Comparison& pair, const Judge& judge,
                     const trace::What& what) {
  if (pair.rule == "initial_state" || pair.rule == "same_data") {
    return {norm <= pair.high ? Standing::kWithin : Standing::kOut, norm, pair.high};
  }
  const bool by_operands = pair.metric == oracle::Metric::kOperands;
  const auto bounds =
      by_operands ? std::optional(oracle::Bounds{pair.low, pair.high}) : norm_bounds(judge, what);
  return {stand(norm, bounds), norm, bounds ? bounds->hi : 0};
}

void judge_by_values(SideStep& candidate, const SideStep& reference, const Judge& judge,
                     const Comparison& pair, const std::vector<int>& holders) {
  const auto& logical = candidate.logicals[static_cast<size_t>(pair.candidate)];
  LogicalWindow window(reference, reference.logicals[static_cast<size_t>(pair.reference)]);
  bool any_out = false;
  for (const int index : holders) {
    auto& judged = candidate.judged[static_cast<size_t>(index)];
    const double growth = judged.growth;
    const double norm = own_norm(candidate, index, window, logical.divisor, pair.scale);
    judged = judge_norm(norm, pair, judge, logical.what);
    judged.growth = growth;
    any_out = any_out || judged.standing == Standing::kOut;
  }
  if (any_out || pair.standing != Standing::kOut) return;
  // Only a row or an element stands out: the holder of the worst element is the one.
  const int64_t worst = pair.deviation.worst_element;
  for (const int index : holders) {
    const auto& record = candidate.record(index);
    bool holds = worst < 0;
    for (size_t r = 0; r < record.regions.size() && !holds; ++r) {
      for_each_cell(record, static_cast<int>(r),
                    [&](int64_t cell, int64_t) { holds = holds || cell == worst; });
    }
    if (!holds) continue;
    auto& judged = candidate.judged[static_cast<size_t>(index)];
    judged.standing = Standing::kOut;
    judged.error = std::max(judged.error, error_of(pair));
  }
}

void judge_by_sketches(SideStep& candidate, const SideStep& reference, const Judge& judge,
                       const Comparison& pair) {
  const auto& logical = candidate.logicals[static_cast<size_t>(pair.candidate)];
  const auto& expected = reference.logicals[static_cast<size_t>(pair.reference)].print;
  if (logical.partial || pair.metric == oracle::Metric::kOperands) return;
  for (const Piece& copy : logical.copies) {
    const auto& print = candidate.record(copy.record).regions[static_cast<size_t>(copy.region)];
    for (const Piece& piece : logical.pieces) {
      if (!same_box(candidate, piece, copy)) continue;
      const auto& other = candidate.record(piece.record).regions[static_cast<size_t>(piece.region)];
      if (print.value_digest == other.value_digest || print.masked()) break;
      const double norm = norm_with_copy(candidate, logical, piece, copy, expected);
      candidate.judged[static_cast<size_t>(copy.record)] =
          judge_norm(norm, pair, judge, logical.what);
      break;
    }
  }
}

}  // namespace

void judge_parts(SideStep& candidate, const SideStep& reference, const Judge& judge,
                 const Comparison& pair) {
  const auto& holders = candidate.holders[static_cast<size_t>(pair.candidate)];
  const auto& logical = candidate.logicals[static_cast<size_t>(pair.candidate)];
  const double error = error_of(pair);
  const double growth = healthy_growth(judge, logical.what);
  for (const int index : holders) {
    candidate.judged[static_cast<size_t>(index)] = {pair.standing, error, pair.high, growth};
  }
  if (pair.standing == Standing::kUnjudged || is_of_the_whole(pair.metric)) return;
  const bool differing_copies = std::ranges::any_of(logical.copies, [&](const Piece& copy) {
    return std::ranges::any_of(logical.pieces, [&](const Piece& piece) {
      return same_box(candidate, piece, copy) &&
             candidate.record(copy.record).raw_digest != candidate.record(piece.record).raw_digest;
    });
  });
  if (pair.standing == Standing::kWithin && !differing_copies) return;
  const bool values =
      !logical.partial && candidate.source->reader != nullptr &&
      std::ranges::all_of(holders, [&](int index) { return candidate.record(index).has_values; }) &&
      has_values(reference, reference.logicals[static_cast<size_t>(pair.reference)]);
  if (values) {
    judge_by_values(candidate, reference, judge, pair, holders);
  } else {
    judge_by_sketches(candidate, reference, judge, pair);
  }
}

std::vector<int> copies_out(const SideStep& candidate, const std::vector<int>& copies) {
  std::vector<int> out;
  bool within = false;
  for (const int index : copies) {
    switch (candidate.judged[static_cast<size_t>(index)].standing) {
      case Standing::kOut:
        out.push_back(index);
        break;
      case Standing::kWithin:
        within = true;
        break;
      default:
        return {};
    }
  }
  return within ? out : std::vector<int>{};
}

}  // namespace nanhunt::compare
