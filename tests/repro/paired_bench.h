// SPDX-License-Identifier: Apache-2.0
// A case on tests/repro/paired_job.cc, and what runs it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "ablate/bench.h"
#include "repro/paired_plan.h"
#include "tests/capsule/small_capsule.h"
#include "tests/support/scratch_folder.h"

namespace nanhunt::repro::test {

using Environment = std::map<std::string, std::string>;

// 4 steps; the failing side is `b`, the reference `a`. `subject`: lines added to the subject file.
class PairedBench {
 public:
  explicit PairedBench(Environment environment = {}, const std::string& subject = "");

  ablate::Bench& operator*() { return *bench_; }
  ablate::Case& the_case() { return case_; }
  const oracle::Thresholds& thresholds() const { return thresholds_; }
  int64_t runs_started() const { return runner_->started(); }

 private:
  ScratchFolder folder_;
  ablate::Case case_;
  oracle::Thresholds thresholds_;
  ablate::ChildRunner children_{2};
  std::unique_ptr<ablate::Runner> runner_;
  std::unique_ptr<ablate::Bench> bench_;
};

// 5 pairs, 4 A/A pairs, 10 steps, 2sd on each loss; resumed at step 4.
PairedPlan paired_plan(Pairing pairing);

}  // namespace nanhunt::repro::test
