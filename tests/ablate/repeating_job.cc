// SPDX-License-Identifier: Apache-2.0
// A training program without training: writes the traces that its capture plan asks for, with noise
// by the plan's perturbation, and notes the seed of each in $SEEN. $FAULT is added to all values.
// Like the programs of this tree it repeats itself when the plan says so; with --once it does not
// know how.
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "tests/compare/trace_builder.h"
#include "trace/capture_plan.h"

namespace nanhunt {
namespace {

void train(const trace::CapturePlan& plan) {
  constexpr size_t kValues = 64;
  compare::test::TraceBuilder builder;
  for (const std::string site : {"fc1", "fc2"}) {
    compare::test::Values values = compare::test::normal_values(kValues, site == "fc1" ? 1 : 2);
    if (plan.perturbation) {
      const uint64_t seed = plan.perturbation->seed * 2 + (site == "fc1" ? 0 : 1);
      values = compare::test::plus(values, compare::test::normal_values(kValues, seed, 1e-3));
    }
    if (const char* fault = std::getenv("FAULT")) {
      const auto offset = static_cast<float>(std::atof(fault));
      values = compare::test::plus(values, compare::test::Values(kValues, offset));
    }
    builder.add({.site = site}, values, compare::test::copies({8, 8}));
  }
  builder.write(plan.out, plan.level == trace::Level::kFull);
  std::ofstream seen(std::getenv("SEEN"), std::ios::app);
  seen << (plan.perturbation ? std::to_string(plan.perturbation->seed) : "none") << "\n";
}

// As cases/mini and cases/plain do it.
trace::CapturePlan plan_of(trace::CapturePlan plan, int repeat) {
  char folder[16];
  std::snprintf(folder, sizeof folder, "%03d", repeat);
  plan.out /= folder;
  plan.repeats = 1;
  if (repeat == 0) plan.perturbation.reset();
  if (plan.perturbation) plan.perturbation->seed += static_cast<uint64_t>(repeat);
  return plan;
}

}  // namespace
}  // namespace nanhunt

int main(int count, char** words) {
  const auto plan = nanhunt::trace::capture_plan_from_environment();
  if (!plan) return 2;
  if (plan->repeats <= 1) {
    nanhunt::train(*plan);
    return 0;
  }
  if (count > 1 && std::strcmp(words[1], "--once") == 0) return 2;
  for (int repeat = 0; repeat < plan->repeats; ++repeat) {
    nanhunt::train(nanhunt::plan_of(*plan, repeat));
  }
  return 0;
}
