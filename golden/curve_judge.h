// SPDX-License-Identifier: Apache-2.0
// The losses of a run against the expected ones, step by step. NaN equals NaN, and only that; NaN
// or Inf where the exporting runs were finite is `different`. A loss whose bits may not differ
// follows the tensor that it was read from: within noise where that is.
#pragma once

#include <map>
#include <vector>

#include "compare/verdict.h"
#include "golden/result.h"

namespace nanhunt::golden {

// How the loss tensors stand: the worst over ranks and microbatches.
class LossStandings {
 public:
  void add(const trace::What& what, Standing standing);
  Standing of(const CurveKey& key) const;  // kSame where there is none

 private:
  std::map<CurveKey, Standing> worst_;
};

// Adds result.curve, result.losses and what is missing.
void judge_curve(Result& result, const Table& table, const std::vector<compare::Loss>& losses,
                 const LossStandings& standings, const oracle::Thresholds& thresholds);

}  // namespace nanhunt::golden
