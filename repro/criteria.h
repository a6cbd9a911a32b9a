// SPDX-License-Identifier: Apache-2.0
// What the decision hangs on, fixed before a curve is read: level, margins, metrics, parts of the
// curve. Registered by the SHA-256 of one line of JSON with sorted keys, as oracle/thresholds.h
// does; the hash is made first and printed with the result. How many seeds there are is no part of
// it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "repro/curve.h"

namespace nanhunt::repro {

struct Margin {
  double value = 0;
  // The value counts standard deviations of the differences of separate A/A pairs: the same set-up
  // twice, once perturbed by 1 ulp.
  bool of_deviation = false;
};

struct Criterion {
  Metric metric = Metric::kWhole;
  Margin margin;
};

struct Criteria {
  std::vector<Criterion> criteria;  // one per metric; at least one
  Fractions fractions;
  ColumnNames names;
  double alpha = 0.05;  // of each one-sided test
};

// "0.02" in the metric's own unit, "2sd". Throws Error(kUsage) on other text.
Margin parse_margin(const std::string& text);
std::string margin_text(const Margin& margin);

// Throws Error(kUsage): no or several criteria of a metric, a margin that is no finite number above
// 0, alpha, fractions, the quality metric without a name.
void require_valid(const Criteria& criteria);

nlohmann::json to_json(const Criteria& criteria);
std::string sha256(const Criteria& criteria);

}  // namespace nanhunt::repro
