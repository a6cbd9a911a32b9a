// SPDX-License-Identifier: Apache-2.0
#include "repro/question.h"

#include "repro/case_report.h"
#include "repro/run_pair.h"
#include "repro/upgrade.h"
#include "trace/check.h"
#include "trace/error.h"

namespace nanhunt::repro {

Report answer(ablate::Question question, ablate::Bench& bench, const oracle::Thresholds& thresholds,
              std::optional<int64_t> at, const std::optional<PairedPlan>& plan) {
  if (plan && question != ablate::Question::kResume && question != ablate::Question::kLayouts)
    throw trace::Error(trace::ErrorKind::kUsage,
                       "runs of several seeds are for --resume and --layouts");
  const int64_t step = at ? *at : bench.the_case().steps / 2;
  switch (question) {
    case ablate::Question::kResume:
      return save_and_resume(bench, thresholds, step, plan);
    case ablate::Question::kLayouts:
      return layout_and_layout(bench, thresholds, step, plan);
    case ablate::Question::kAgain:
      return run_and_run(bench, thresholds);
    case ablate::Question::kUpgrade:
      return build_and_build(bench, thresholds, step);
  }
  NANHUNT_CHECK(false && "unknown question");
}

}  // namespace nanhunt::repro
