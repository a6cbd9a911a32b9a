// SPDX-License-Identifier: Apache-2.0
// The convergence level of a reproducibility report: the runs of several seeds under a reference
// set-up A and a candidate B, to one decision (docs/convergence.md).
//
// Numbers first (curve.h), then TOST per metric (equivalence.h). A pair in which one side alone has
// NaN or Inf at any step makes the result "different", also where no metric covers that step. In a
// pair where both sides have one, a metric that is not finite on either side has no difference.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "repro/criteria.h"
#include "repro/drawn_curves.h"
#include "repro/equivalence.h"

namespace nanhunt::repro {

// The spread that chance alone gives: of the differences within separate A/A pairs.
struct Spread {
  int pairs = 0;
  double sd = 0;             // n-1
  double low = 0, high = 0;  // 95 % interval of the true one (chi-square)
};

struct MetricResult {
  Metric metric = Metric::kWhole;
  double margin = 0;               // in the metric's own unit
  std::optional<StepRange> steps;  // whose losses it is the mean of; none for the quality
  std::vector<Pair> values;        // of each pair, as they were taken
  Equivalence test;
  std::optional<Spread> spread;  // of A/A, where there are A/A pairs
  double margin_over_sd = 0;     // by A/A, else by these pairs; NaN when neither tells
  std::optional<double> power;   // of these many pairs at true difference 0
  std::optional<int> seeds;      // needed for power 0.8; none up to kMostSeeds
};

struct Convergence {
  Decision decision = Decision::kUnknown;
  std::string reason;
  std::string thresholds_sha256;  // of the criteria
  Criteria criteria;
  std::vector<MetricResult> metrics;
  std::vector<std::string> notes;  // pairs with NaN or Inf, copies
  std::vector<std::string> pairs;  // judged: "a.jsonl, b.jsonl"; a test's pair i is the i-th
  int same_pairs = 0;              // A/A
  int64_t first_step = 0, last_step = 0, steps = 0;  // the same in all curves
  DrawnCurves curves;                                // of `pairs`
  std::string command;                               // that made it, for a shell; "" when unknown
};

// Throws Error(kUsage): criteria that are not valid, less than two A/A pairs where a margin counts
// their deviation, or a deviation of 0; a run that is in a pair and in an A/A pair, since the
// margin must not come from what it judges. Error(kUnreadable): curves with other steps, NaN or Inf
// in an A/A pair.
Convergence judge(const Criteria& criteria, const std::vector<CurvePair>& pairs,
                  const std::vector<CurvePair>& same);

int exit_status(Decision decision);  // 0, 1, 125
nlohmann::json to_json(const Convergence& result);
// Throws Error(kUnreadable): not what to_json wrote, another schema, or criteria that are not those
// of its hash.
Convergence convergence_from_json(const nlohmann::json& json);
std::string to_text(const Convergence& result);

// Parts of the text, for whatever else shows a result.
std::string headline(const Convergence& result);  // "equivalent: late_loss is equivalent"
std::string ticket(const Convergence& result);    // the block at the end
std::vector<std::string> metric_lines(const Convergence& result, size_t index);

}  // namespace nanhunt::repro
