// SPDX-License-Identifier: Apache-2.0
#include "repro/drawn_curves.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

namespace nanhunt::repro {
namespace {

using Places = std::set<size_t>;
using Value = std::function<double(size_t place)>;

constexpr size_t kExtremes = 6, kNotFinite = 4;  // kept of a part, at most

struct Part {
  size_t begin = 0, end = 0;
};

void keep_extremes(const Part& part, const Value& value, Places& kept) {
  size_t least = part.end, greatest = part.end;
  for (size_t i = part.begin; i < part.end; ++i) {
    if (!std::isfinite(value(i))) continue;
    if (least == part.end || value(i) < value(least)) least = i;
    if (greatest == part.end || value(i) > value(greatest)) greatest = i;
  }
  if (least != part.end) kept.insert({least, greatest});
}

void keep_not_finite(const Part& part, const Value& value, Places& kept) {
  size_t last = part.end;
  for (size_t i = part.begin; i < part.end; ++i) {
    if (std::isfinite(value(i))) continue;
    if (last == part.end) kept.insert(i);
    last = i;
  }
  if (last != part.end) kept.insert(last);
}

Places places(const std::vector<double>& a, const std::vector<double>& b, bool lost) {
  const size_t parts = kMostDrawnSteps / (kExtremes + (lost ? kNotFinite : 0));
  const Value of_a = [&](size_t i) { return a[i]; }, of_b = [&](size_t i) { return b[i]; };
  Places kept = {0, a.size() - 1};
  for (size_t i = 0; i < parts; ++i) {
    const Part part{i * a.size() / parts, (i + 1) * a.size() / parts};
    keep_extremes(part, of_a, kept);
    keep_extremes(part, of_b, kept);
    keep_extremes(
        part, [&](size_t place) { return b[place] - a[place]; }, kept);
    if (!lost) continue;
    keep_not_finite(part, of_a, kept);
    keep_not_finite(part, of_b, kept);
  }
  return kept;
}

bool is_lost(const CurvePair& pair) {
  return first_non_finite(pair.a) || first_non_finite(pair.b);
}

// Shares are added, so that no sum leaves the range.
void add_share(const std::vector<double>& losses, double count, std::vector<double>& mean) {
  mean.resize(losses.size(), 0.0);
  for (size_t i = 0; i < losses.size(); ++i) mean[i] += losses[i] / count;
}

}  // namespace

DrawnPair drawn(const Curve& a, const Curve& b) {
  if (a.steps.size() <= kMostDrawnSteps) return {a.steps, a.losses, b.losses};
  DrawnPair pair;
  for (const size_t place : places(a.losses, b.losses, is_lost({a, b}))) {
    pair.steps.push_back(a.steps[place]);
    pair.a.push_back(a.losses[place]);
    pair.b.push_back(b.losses[place]);
  }
  return pair;
}

DrawnCurves drawn(const std::vector<CurvePair>& pairs) {
  DrawnCurves curves;
  std::vector<const CurvePair*> whole;
  for (const CurvePair& pair : pairs) {
    curves.pairs.push_back(drawn(pair.a, pair.b));
    if (!is_lost(pair)) whole.push_back(&pair);
  }
  if (whole.empty()) return curves;
  CurvePair mean;
  mean.a.steps = mean.b.steps = whole.front()->a.steps;
  for (const CurvePair* pair : whole) {
    add_share(pair->a.losses, static_cast<double>(whole.size()), mean.a.losses);
    add_share(pair->b.losses, static_cast<double>(whole.size()), mean.b.losses);
  }
  curves.mean = drawn(mean.a, mean.b);
  curves.mean_of = static_cast<int>(whole.size());
  return curves;
}

}  // namespace nanhunt::repro
