// SPDX-License-Identifier: Apache-2.0
#include "tests/repro/paired_bench.h"

#include <fstream>

namespace nanhunt::repro::test {
namespace {

constexpr const char* kSubject =
    " --steps={steps} {toggles}\n"
    "capsules = --capsules={capsules} --capsule-every={capsule_every}\n"
    "resume = --resume={resume} --resume-step={resume_step}\n"
    "[toggle.side]\nvalues = a b\nreference = a\narg = --side={value}\n";
constexpr const char* kSeed = "[param.seed]\ndefault = 1\narg = --seed={value}\n";

}  // namespace

PairedBench::PairedBench(Environment environment, const std::string& subject)
    : thresholds_(oracle::Thresholds::installed()) {
  std::ofstream(folder_.path() / "job.subject")
      << "command = " << NANHUNT_PAIRED_JOB << kSubject << (subject.empty() ? kSeed : subject);
  std::ofstream(folder_.path() / "a.case") << "subject = job.subject\nsteps = 4\n[set]\nside = b\n";
  case_ = ablate::read_case(folder_.path() / "a.case");
  runner_ =
      std::make_unique<ablate::Runner>(children_, case_.subject, "build", folder_.path() / "work",
                                       std::move(environment), ablate::ProgressSink());
  bench_ = std::make_unique<ablate::Bench>(case_, thresholds_, *runner_, ablate::BenchOptions());
}

PairedPlan paired_plan(Pairing pairing) {
  PairedPlan plan;
  plan.pairing = pairing;
  for (const Metric metric : {Metric::kEarly, Metric::kLate, Metric::kWhole})
    plan.criteria.criteria.push_back({metric, {2, true}});
  plan.seeds = 5;
  plan.same = 4;
  plan.steps = 10;
  plan.at = 4;
  plan.jobs = 2;
  plan.again = "nanhunt repro a.case --seeds 5 --margin 2sd";
  return plan;
}

}  // namespace nanhunt::repro::test
