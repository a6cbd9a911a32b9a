// SPDX-License-Identifier: Apache-2.0
#include "repro/case_runs.h"

#include <numeric>

#include "capsule/capsule.h"
#include "compare/judge.h"
#include "repro/levels.h"
#include "trace/error.h"

namespace nanhunt::repro {

using ablate::Bench;
using ablate::Run;
using ablate::Scope;

int64_t first_step(const ablate::Case& the_case) {
  const auto& capsule = the_case.capsule;
  if (capsule.resume.empty()) return 0;
  return capsule::Capsule(capsule.resume, capsule.resume_step).step().step;
}

Scope full_scope(const Bench& bench, int64_t at) {
  Scope scope;
  scope.steps = bench.the_case().steps;
  scope.level = trace::Level::kFull;
  for (int64_t step = at; step < scope.steps; ++step) scope.captured.push_back(step);
  // The start, `at` and the end are multiples of it.
  scope.capsules.every = std::gcd(std::gcd(first_step(bench.the_case()), at), scope.steps);
  return scope;
}

void check_step(const Bench& bench, int64_t at) {
  if (at > 0 && at < bench.the_case().steps) return;
  throw trace::Error(trace::ErrorKind::kUsage, "step " + std::to_string(at) +
                                                   " is not inside the case's " +
                                                   std::to_string(bench.the_case().steps) +
                                                   " steps; --at and --steps set them");
}

Run run(Bench& bench, const std::string& purpose, const ablate::Settings& settings,
        const Scope& scope, int32_t again) {
  ablate::RunRequest request = bench.request(purpose, settings, scope);
  request.again = again;
  Run made = bench.runner().run(request);
  if (!made.ended_well())
    throw trace::Error(trace::ErrorKind::kUnreadable, purpose + ": " + made.complaint());
  return made;
}

void judge_envelope(LevelReport& level, Bench& bench, const Run& candidate, const Run& reference,
                    const Scope& scope) {
  const auto verdict = bench.judge(candidate, reference, scope);
  level.threshold = "exact rules, and the envelope of perturbed runs of the reference side";
  level.commands = {"nanhunt compare " + candidate.trace.string() + " " + reference.trace.string()};
  conclude(level, verdict, LevelVerdict::kWithin);
}

}  // namespace nanhunt::repro
