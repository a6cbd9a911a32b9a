// SPDX-License-Identifier: Apache-2.0
#include "repro/curve.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "compare/numbers.h"
#include "repro/curve_rows.h"
#include "trace/check.h"
#include "trace/error.h"

namespace nanhunt::repro {
namespace {

struct NamedMetric {
  Metric metric;
  std::string_view name;
};
constexpr std::array<NamedMetric, 4> kMetrics = {{{Metric::kEarly, "early_loss"},
                                                  {Metric::kLate, "late_loss"},
                                                  {Metric::kWhole, "whole_loss"},
                                                  {Metric::kQuality, "quality"}}};

[[noreturn]] void fail_at(const std::filesystem::path& path, int line, const std::string& reason) {
  throw trace::Error(trace::ErrorKind::kUnreadable,
                     path.string() + ":" + std::to_string(line) + ": " + reason);
}

std::string step_text(int64_t step) {
  return "step " + std::to_string(step);
}

void add_step(const Row& row, Curve& curve) {
  if (!curve.steps.empty() && row.step <= curve.steps.back()) {
    const auto held = std::ranges::lower_bound(curve.steps, row.step);
    if (*held != row.step) {
      fail_at(curve.path, row.line,
              step_text(row.step) + " comes after " + step_text(curve.steps.back()));
    }
    const auto at = static_cast<size_t>(held - curve.steps.begin());
    fail_at(
        curve.path, row.line,
        step_text(row.step) + " is there twice, first on line " + std::to_string(curve.lines[at]));
  }
  curve.steps.push_back(row.step);
  curve.losses.push_back(*row.loss);
  curve.lines.push_back(row.line);
}

double mean(std::span<const double> values) {
  const auto n = static_cast<double>(values.size());
  double sum = 0;
  for (const double value : values) sum += value;
  if (std::isfinite(sum) || !std::ranges::all_of(values, [](double v) { return std::isfinite(v); }))
    return sum / n;
  sum = 0;  // the sum left the range, the mean cannot
  for (const double value : values) sum += value / n;
  return sum;
}

size_t count_of(double fraction, size_t steps) {
  const auto count = static_cast<size_t>(std::llround(fraction * static_cast<double>(steps)));
  return std::clamp<size_t>(count, 1, steps);
}

// The part of the logged steps that a metric of losses covers.
template <typename T>
std::span<const T> part_of(const std::vector<T>& values, Metric metric, const Fractions& shares) {
  const std::span<const T> all(values);
  if (metric == Metric::kEarly) return all.first(count_of(shares.early, all.size()));
  if (metric == Metric::kLate) return all.last(count_of(shares.late, all.size()));
  return all;
}

void require_fraction(double fraction, const char* part) {
  if (fraction > 0 && fraction <= 1) return;
  throw trace::Error(trace::ErrorKind::kUsage,
                     std::string("the ") + part + " part is " + compare::short_number(fraction) +
                         " of the steps: it must be above 0 and at most 1");
}

}  // namespace

Curve read_curve(const std::filesystem::path& path, const ColumnNames& names) {
  Curve curve;
  curve.path = path;
  for (const Row& row : read_rows(path, names)) {
    if (row.loss) {
      add_step(row, curve);
    } else if (!row.quality) {
      fail_at(path, row.line, step_text(row.step) + " has no \"" + names.loss + "\"");
    }
    if (row.quality) curve.quality = row.quality;
  }
  if (curve.steps.empty()) {
    throw trace::Error(trace::ErrorKind::kUnreadable, path.string() + ": holds no steps");
  }
  if (!names.quality.empty() && !curve.quality) {
    throw trace::Error(trace::ErrorKind::kUnreadable,
                       path.string() + ": no row holds \"" + names.quality + "\"");
  }
  return curve;
}

void require_same_steps(const Curve& a, const Curve& b) {
  const auto [at_a, at_b] = std::ranges::mismatch(a.steps, b.steps);
  if (at_a == a.steps.end() && at_b == b.steps.end()) return;
  // The smaller of the two steps is the one that the other curve lacks.
  const bool a_has = at_b == b.steps.end() || (at_a != a.steps.end() && *at_a < *at_b);
  const Curve& has = a_has ? a : b;
  const Curve& lacks = a_has ? b : a;
  const auto at = static_cast<size_t>(a_has ? at_a - a.steps.begin() : at_b - b.steps.begin());
  std::string reason = step_text(has.steps[at]) + " is missing in " + lacks.path.string();
  if (lacks.steps.back() < has.steps[at]) {
    reason += ", which ends at " + step_text(lacks.steps.back()) + " on line " +
              std::to_string(lacks.lines.back());
  }
  fail_at(has.path, has.lines[at], reason);
}

std::optional<int64_t> first_non_finite(const Curve& curve) {
  for (size_t i = 0; i < curve.losses.size(); ++i) {
    if (!std::isfinite(curve.losses[i])) return curve.steps[i];
  }
  return std::nullopt;
}

void require_fractions(const Fractions& fractions) {
  require_fraction(fractions.early, "early");
  require_fraction(fractions.late, "late");
}

std::string_view name_of(Metric metric) {
  for (const NamedMetric& one : kMetrics) {
    if (one.metric == metric) return one.name;
  }
  NANHUNT_CHECK(false);
}

std::optional<Metric> metric_named(std::string_view name) {
  for (const NamedMetric& one : kMetrics) {
    if (one.name == name) return one.metric;
  }
  return std::nullopt;
}

double summarise(const Curve& curve, Metric metric, const Fractions& fractions) {
  if (metric != Metric::kQuality) return mean(part_of(curve.losses, metric, fractions));
  NANHUNT_CHECK(curve.quality.has_value());
  return *curve.quality;
}

std::optional<StepRange> steps_of(const Curve& curve, Metric metric, const Fractions& fractions) {
  if (metric == Metric::kQuality || curve.steps.empty()) return std::nullopt;
  const auto part = part_of(curve.steps, metric, fractions);
  return StepRange{part.front(), part.back()};
}

}  // namespace nanhunt::repro
