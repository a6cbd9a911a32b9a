// SPDX-License-Identifier: Apache-2.0
#include "golden/curve_judge.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace nanhunt::golden {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

bool same(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

void judge_point(LossPoint& judged, const CurvePoint& point, Standing of_tensor,
                 const Result& result, const oracle::Thresholds& thresholds) {
  judged.low = judged.high = kNan;
  if (point.kind == Class::kNoise) {
    const double half = bound(point.spread, kOfNumbers, result.judged, thresholds);
    judged.low = point.mean - half;
    judged.high = point.mean + half;
    const bool inside = judged.low <= judged.value && judged.value <= judged.high;
    judged.standing = inside ? Standing::kWithin : Standing::kDifferent;
    return;
  }
  if (point.kind == Class::kBit) judged.low = judged.high = point.values.front();
  const auto is_mine = [&](double value) { return same(value, judged.value); };
  const auto finite = [](double value) { return std::isfinite(value); };
  if (std::ranges::any_of(point.values, is_mine)) {
    judged.standing = Standing::kSame;
  } else if (!std::isfinite(judged.value) && std::ranges::all_of(point.values, finite)) {
    judged.standing = Standing::kDifferent;
  } else if (point.kind == Class::kUnjudged) {
    judged.standing = Standing::kUnjudged;
    judged.why = point.why;
  } else if (of_tensor != Standing::kSame) {
    judged.standing = of_tensor;
  } else {
    judged.standing = result.excuse.empty() ? Standing::kDifferent : Standing::kUnjudged;
  }
  if (judged.standing == Standing::kUnjudged && judged.why.empty())
    judged.why = result.excuse.empty() ? "its tensor is not judged" : result.excuse;
}

}  // namespace

void LossStandings::add(const trace::What& what, Standing standing) {
  if (what.phase != trace::Phase::kLoss) return;
  auto& worst = worst_[{what.site, what.role, what.step}];
  worst = std::max(worst, standing);
}

Standing LossStandings::of(const CurveKey& key) const {
  const auto found = worst_.find(key);
  return found == worst_.end() ? Standing::kSame : found->second;
}

void judge_curve(Result& result, const Table& table, const std::vector<compare::Loss>& losses,
                 const LossStandings& standings, const oracle::Thresholds& thresholds) {
  std::map<CurveKey, double> here;
  for (const auto& loss : losses) here[{loss.site, loss.role, loss.step}] = loss.candidate;
  for (const auto& [key, point] : table.curves) {
    const auto found = here.find(key);
    if (found == here.end()) {
      ++result.missing["loss of " + key.site + " " + key.role];
      continue;
    }
    LossPoint judged;
    judged.key = key;
    judged.value = found->second;
    judged.kind = point.kind;
    judge_point(judged, point, standings.of(key), result, thresholds);
    result.losses.add(judged.standing);
    result.curve.push_back(std::move(judged));
  }
}

}  // namespace nanhunt::golden
