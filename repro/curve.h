// SPDX-License-Identifier: Apache-2.0
// The loss curve of one training run, and the numbers that it is reduced to. Steps of one run hang
// together, so they are no samples: a run gives one number per metric, whatever its length.
//
// Files (repro/curve_rows.h reads them): JSON lines, one object a step, as logging callbacks write
// them; or CSV with a header (name ends in .csv). Columns other than the named ones are ignored.
// NaN and Inf are losses like others.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nanhunt::repro {

struct ColumnNames {
  std::string step = "step", loss = "loss";
  std::string quality;  // a final quality metric (evaluation loss, accuracy); "" without one
};

struct Curve {
  std::filesystem::path path;
  std::vector<int64_t> steps;     // ascending
  std::vector<double> losses;     // of each step; NaN and Inf as logged
  std::vector<int> lines;         // of the file, where each stood; from 1
  std::optional<double> quality;  // the last one in the file
};

// One seed under a reference set-up A and a candidate B.
struct CurvePair {
  Curve a, b;  // with the same steps
};

// Throws Error(kUnreadable) with file and line: no object, no step, no loss, not a number, a step
// twice or out of order, no rows, no quality where one is asked for. A row with the quality alone
// needs no loss.
Curve read_curve(const std::filesystem::path& path, const ColumnNames& names);

// Both hold the same steps. Throws Error(kUnreadable) naming file and line of the first that the
// other lacks.
void require_same_steps(const Curve& a, const Curve& b);

// The first step whose loss is NaN or Inf.
std::optional<int64_t> first_non_finite(const Curve& curve);

// Shares of the logged steps, in (0, 1]: a part is that share, rounded, and at least one step.
struct Fractions {
  double early = 0.2, late = 0.2;
};
void require_fractions(const Fractions& fractions);  // throws Error(kUsage)

enum class Metric { kEarly, kLate, kWhole, kQuality };
std::string_view name_of(Metric metric);  // "early_loss", ..., "quality"
std::optional<Metric> metric_named(std::string_view name);

// Mean loss of the part (FP64, in order of steps), or the quality. NaN or Inf when one of the
// losses is; finite losses give a finite mean.
double summarise(const Curve& curve, Metric metric, const Fractions& fractions);

struct StepRange {
  int64_t first = 0, last = 0;
};
// Of the part of a curve that a metric is the mean of; none for the quality, or without steps.
std::optional<StepRange> steps_of(const Curve& curve, Metric metric, const Fractions& fractions);

}  // namespace nanhunt::repro
