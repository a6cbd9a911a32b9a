// SPDX-License-Identifier: Apache-2.0
// Where runs of one case are made and judged: which steps and which sites in full, the envelope
// that a pair needs, the verdict over the pair.
#pragma once

#include <string>
#include <vector>

#include "ablate/calibration.h"
#include "ablate/case_file.h"
#include "ablate/runner.h"
#include "compare/judge.h"

namespace nanhunt::ablate {

// What both runs of a pair capture.
struct Scope {
  int64_t steps = 1;
  trace::Level level = trace::Level::kStats;
  std::vector<std::string> full_sites, full_phases;
  std::vector<int64_t> captured = {};  // steps; empty: all
  CapsuleRequest capsules = {};        // of both, and of the calibration
};

struct BenchOptions {
  bool exploratory = false;  // thresholds are not the case's own
  int32_t repeats = 8;       // of a calibration
  int jobs = 1;              // runs of a calibration at a time
  uint64_t noise_seed = 1;
  std::filesystem::path envelopes = {};  // where they are kept; empty: the runner's work folder
};

// How often a calibration repeats: the case's own [thresholds], else the subject's `repeats`, else
// the thresholds.
int32_t calibration_repeats(const Case& the_case, const oracle::Thresholds& thresholds);

class Bench {
 public:
  Bench(const Case& the_case, const oracle::Thresholds& thresholds, Runner& runner,
        BenchOptions options)
      : case_(the_case),
        thresholds_(thresholds),
        runner_(runner),
        calibrator_(runner, options.envelopes.empty() ? runner.work() : options.envelopes),
        options_(options) {}

  RunRequest request(const std::string& purpose, const Settings& settings,
                     const Scope& scope) const;
  // The candidate's trace against the reference run's, inside the envelope of that pair.
  // Throws Error(kUnreadable) when a trace cannot be read.
  compare::Verdict judge(const Run& candidate, const Run& reference, const Scope& scope);
  // Rules that need no reference, on one run.
  compare::Verdict scan(const Run& run) const;

  const Case& the_case() const { return case_; }
  Runner& runner() { return runner_; }

 private:
  compare::JudgeOptions judge_options() const;

  const Case& case_;
  const oracle::Thresholds& thresholds_;
  Runner& runner_;
  Calibrator calibrator_;
  BenchOptions options_;
};

}  // namespace nanhunt::ablate
