// SPDX-License-Identifier: Apache-2.0
#include "tests/compare/signature_verdicts.h"

#include "compare/judge.h"
#include "compare/judge_sources.h"
#include "tests/support/scratch_folder.h"

namespace nanhunt::compare::test {

bool at(const Tap& tap, const std::string& site, trace::Phase phase, const std::string& role) {
  return tap.site == site && tap.phase == phase && tap.role == role;
}

Verdict verdict_of(const TraceBuilder& candidate, const TraceBuilder& reference, bool values,
                   double healthy) {
  const auto envelope = envelope_around(reference.source(), healthy);
  JudgeOptions options;
  options.envelope = &envelope;
  if (!values) {
    const auto mine = candidate.source("candidate"), other = reference.source("reference");
    return judge_sources(mine, &other, thresholds(), options);
  }
  const ScratchFolder folder;
  candidate.write(folder.path() / "candidate");
  reference.write(folder.path() / "reference");
  const trace::TraceReader mine(folder.path() / "candidate"), other(folder.path() / "reference");
  return compare_traces(mine, other, thresholds(), options);
}

Verdict verdict_of(const Edit& edit, bool values, int tp) {
  SmallModel model{.tp = tp, .noise = kHealthy};
  model.edit = edit;
  return verdict_of(build(model), build({}), values);
}

Verdict scan_with_values(const TraceBuilder& builder) {
  const ScratchFolder folder;
  builder.write(folder.path() / "trace");
  return scan(trace::TraceReader(folder.path() / "trace"), thresholds());
}

std::string signature_of(const Verdict& verdict) {
  return verdict.origins.empty() ? "no origin" : verdict.origins.front().signature;
}

std::string signature_at(const std::string& site, const Verdict& verdict) {
  for (const auto& origin : verdict.origins) {
    if (origin.finding.what.site == site) return origin.signature;
  }
  return "no origin";
}

}  // namespace nanhunt::compare::test
