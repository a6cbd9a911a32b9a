// SPDX-License-Identifier: Apache-2.0
#include "ablate/bench.h"

namespace nanhunt::ablate {

int32_t calibration_repeats(const Case& the_case, const oracle::Thresholds& thresholds) {
  const std::string key = "calibration_repeats";
  const auto& subjects_own = the_case.subject.repeats;
  if (subjects_own && !the_case.thresholds.contains(key)) return *subjects_own;
  return static_cast<int32_t>(thresholds[key]);
}

RunRequest Bench::request(const std::string& purpose, const Settings& settings,
                          const Scope& scope) const {
  RunRequest request;
  request.purpose = purpose;
  request.settings = settings;
  request.steps = scope.steps;
  request.plan.level = scope.level;
  request.plan.full_sites = scope.full_sites;
  request.plan.full_phases = scope.full_phases;
  request.plan.steps = scope.captured;
  request.plan.poison = case_.poison;
  request.capsules = scope.capsules;
  if (request.capsules.resume.empty()) {
    request.capsules.resume = case_.capsule.resume;
    request.capsules.resume_step = case_.capsule.resume_step;
  }
  request.timeout_s = case_.timeout_s;
  return request;
}

compare::JudgeOptions Bench::judge_options() const {
  compare::JudgeOptions options;
  options.exploratory = options_.exploratory;
  options.intended = case_.intended;
  return options;
}

compare::Verdict Bench::judge(const Run& candidate, const Run& reference, const Scope& scope) {
  const trace::TraceReader candidate_trace(candidate.trace);
  const trace::TraceReader reference_trace(reference.trace);
  const CalibrationRequest calibration{request("reference", case_.reference, scope),
                                       options_.repeats, options_.noise_seed, options_.jobs};
  const auto envelope = calibrator_.envelope(candidate_trace, reference_trace, calibration);
  compare::JudgeOptions options = judge_options();
  options.envelope = envelope.get();
  return compare::compare_traces(candidate_trace, reference_trace, thresholds_, options);
}

compare::Verdict Bench::scan(const Run& run) const {
  return compare::scan(trace::TraceReader(run.trace), thresholds_, judge_options());
}

}  // namespace nanhunt::ablate
