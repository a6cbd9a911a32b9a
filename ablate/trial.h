// SPDX-License-Identifier: Apache-2.0
// One trial of the ablation: the subject with some toggles at their failing value, judged as the
// same failure, clean, or unresolved with a reason.
#pragma once

#include <string>
#include <vector>

#include "ablate/bench.h"
#include "ablate/search.h"

namespace nanhunt::ablate {

// What the trials of one hunt share.
struct TrialContext {
  Bench& bench;
  const compare::Verdict& failure;  // of the failing side against the reference
  Run reference;                    // at `scope`
  Scope scope;
  int32_t failing_ranks = 0;  // world size of the failing side
  std::string own_failure =
      {};  // its kind, where the subject tells failures itself (own_failure.h)
};

// Toggles of the configuration at their failing value, the others at the reference value.
Settings settings_of(const Case& the_case, const Configuration& configuration);
// Configurations whose values cannot take effect need no run to say so: why not, or "". In an
// off-trial a toggle may go with the one that is switched off (TP 1 takes sequence parallelism with
// it).
std::string without_effect(const Case& the_case, const Configuration& configuration,
                           const Settings& settings);
// "off layout.sp", "on layout.sp", "on layout.sp parallel.tp": whichever is shorter to say.
std::string name_of(const Configuration& configuration, const std::vector<std::string>& toggles);

TrialVerdict run_trial(const TrialContext& context, const Configuration& configuration,
                       const std::string& purpose);

// Whether a clean trial may acquit the toggles it switched off: not when the failure accuses single
// ranks that the trial does not have, while it does carry out the operation that went wrong. ""
// when it may, else why not.
std::string why_no_acquittal(const compare::Verdict& failure, int32_t failing_ranks,
                             const trace::TraceReader& trial);

}  // namespace nanhunt::ablate
