// SPDX-License-Identifier: Apache-2.0
#include "compare/controls.h"

#include <optional>

namespace nanhunt::compare {
namespace {

constexpr double kScale = 1.5;

bool usable(const SideStep& side, const oracle::Logical& logical) {
  if (!logical.complete || logical.print.masked() || logical.print.sum_squares == 0) return false;
  if (!by_envelope(logical.what.phase) || logical.count < 2) return false;
  const auto& first = side.record(logical.pieces.front().record);
  return trace::is_floating(first.storage) && logical.statistics.min < logical.statistics.max;
}

oracle::Logical perturbed(const SideStep& side, const oracle::Logical& logical) {
  oracle::Logical result = logical;
  const oracle::Piece* largest = &logical.pieces.front();
  const auto print_of = [&](const oracle::Piece& piece) -> const trace::RegionPrint& {
    return side.record(piece.record).regions[static_cast<size_t>(piece.region)];
  };
  for (const auto& piece : logical.pieces) {
    if (print_of(piece).sum_squares > print_of(*largest).sum_squares) largest = &piece;
  }
  const auto& print = print_of(*largest);
  for (int j = 0; j < trace::kSketchBuckets; ++j) {
    result.print.sketch[j] += (kScale - 1) * print.sketch[j] / logical.divisor;
  }
  ++result.print.value_digest;
  return result;
}

// The tensor whose envelope is the tightest, or any when there is none.
const oracle::Logical* subject_of(const SideStep& side, const Judge& judge) {
  const oracle::Logical* best = nullptr;
  double tightest = 0;
  for (const auto& logical : side.logicals) {
    if (!usable(side, logical)) continue;
    const auto bounds = norm_bounds(judge, logical.what);
    if (judge.envelope != nullptr && !bounds) continue;
    if (best == nullptr || (bounds && bounds->hi < tightest)) {
      best = &logical;
      tightest = bounds ? bounds->hi : 0;
    }
  }
  return best;
}

}  // namespace

Controls run_controls(const SideStep& candidate, const Judge& judge) {
  Controls controls;
  const auto* logical = subject_of(candidate, judge);
  if (logical == nullptr) return controls;
  controls.ran = true;
  const auto& step = *candidate.step;
  const auto same = oracle::deviation(step, *logical, nullptr, step, *logical, nullptr);
  const auto other = perturbed(candidate, *logical);
  const auto off = oracle::deviation(step, other, nullptr, step, *logical, nullptr);
  const auto bounds = norm_bounds(judge, logical->what);
  const bool same_passes = same.equal || (same.comparable && same.norm == 0);
  const bool off_fails = off.comparable && !off.equal &&
                         (bounds ? stand(off.norm, bounds) == Standing::kOut : off.norm > 0);
  controls.passed = same_passes && off_fails;
  if (!same_passes) {
    controls.failure = describe(logical->what) + " deviates from itself";
  } else if (!off_fails) {
    controls.failure = describe(logical->what) + " scaled by 1.5 in one region is not out";
  }
  return controls;
}

}  // namespace nanhunt::compare
