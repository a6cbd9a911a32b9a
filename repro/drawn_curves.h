// SPDX-License-Identifier: Apache-2.0
// Loss curves of pairs as a plot needs them: at most some kMostDrawnSteps steps a curve, whatever
// the length of a run, and nothing left out that stands out.
//
// Up to kMostDrawnSteps logged steps all are kept. Of more, the steps are cut into parts of equal
// length, 166 of them, or 100 where a loss of the pair is NaN or Inf. Kept of each part: the step
// of the least and of the greatest finite value of A, of B and of B - A, and of A and of B the
// first and the last step that is NaN or Inf; with them the first and the last step of the run.
#pragma once

#include <cstdint>
#include <vector>

#include "repro/curve.h"

namespace nanhunt::repro {

inline constexpr size_t kMostDrawnSteps = 1000;  // and the two ends of the run

struct DrawnPair {
  std::vector<int64_t> steps;  // ascending
  std::vector<double> a, b;    // of each step; NaN and Inf as logged
};

struct DrawnCurves {
  std::vector<DrawnPair> pairs;  // of the judged pairs, in their order
  // Mean over the pairs whose losses are all finite (FP64, in their order), of each step before
  // steps were left out.
  DrawnPair mean;
  int mean_of = 0;  // so many pairs; without one `mean` is empty
};

// The curves hold the same steps.
DrawnPair drawn(const Curve& a, const Curve& b);
DrawnCurves drawn(const std::vector<CurvePair>& pairs);

}  // namespace nanhunt::repro
