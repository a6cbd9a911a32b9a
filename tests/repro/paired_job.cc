// SPDX-License-Identifier: Apache-2.0
// A training program without training, for reports on a case. Its loss falls, hangs on the seed,
// and moves a little where the plan perturbs it. Writes the trace that its capture plan asks for,
// and capsules of a state that hangs on the step alone.
//   --seed S --side a|b --steps N [--capsules DIR --capsule-every E] [--resume DIR --resume-step K]
// The environment breaks it: BIAS is added to the loss of side b (BROKEN=resume: of resumed runs)
// from step BIAS_FROM on, NAN_SEED has a loss that is NaN there, FAIL_SEED ends with status 3,
// LATE_STATE leaves another moment in the last capsule of a resumed run.
#include <boost/program_options.hpp>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>

#include "tests/capsule/small_capsule.h"
#include "tests/compare/trace_builder.h"
#include "trace/capture_plan.h"

namespace nanhunt {
namespace {

namespace po = boost::program_options;

struct Options {
  uint64_t seed = 1;
  std::string side = "a", capsules, resume;
  int64_t steps = 1, every = 0, resume_step = 0;

  // Whether BIAS and NAN_SEED are about this run.
  bool is_broken() const {
    const char* of = std::getenv("BROKEN");
    return of != nullptr && std::string(of) == "resume" ? !resume.empty() : side == "b";
  }
};

Options read_options(int count, char** words) {
  Options options;
  po::options_description all;
  all.add_options()("seed", po::value(&options.seed))("side", po::value(&options.side))(
      "steps", po::value(&options.steps))("capsules", po::value(&options.capsules))(
      "capsule-every", po::value(&options.every))("resume", po::value(&options.resume))(
      "resume-step", po::value(&options.resume_step));
  po::variables_map values;
  po::store(po::parse_command_line(count, words, all), values);
  po::notify(values);
  return options;
}

double number_in(const char* variable, double without) {
  const char* text = std::getenv(variable);
  return text == nullptr ? without : std::atof(text);
}

// Near normal, of deviation `size`.
double draw(uint64_t seed, double size) {
  return compare::test::normal_values(1, seed, size)[0];
}

double loss_of(const Options& options, const trace::CapturePlan& plan, int64_t step) {
  double loss = 3 + draw(options.seed, 0.1) + 2.0 / static_cast<double>(step + 1);
  if (plan.perturbation) loss += draw(1000 + plan.perturbation->seed, 1e-3);
  const bool biased = options.is_broken() && step >= number_in("BIAS_FROM", 0);
  if (biased) loss += number_in("BIAS", 0) + draw(2000 + options.seed, 1e-4);
  const bool lost = biased && static_cast<double>(options.seed) == number_in("NAN_SEED", -1);
  return lost ? std::numeric_limits<double>::quiet_NaN() : loss;
}

void write_trace(const Options& options, const trace::CapturePlan& plan) {
  const int64_t first = plan.steps.empty() ? options.resume_step : plan.steps.front();
  compare::test::TraceBuilder builder(1, 1, first);
  for (int64_t step = first; step < options.steps; ++step) {
    builder.begin_step(step);
    if (plan.phases.empty()) {
      builder.add({.site = "fc1"}, compare::test::normal_values(16, 5),
                  compare::test::copies({4, 4}));
    }
    builder.scalar({.site = "loss", .phase = trace::Phase::kLoss, .role = "loss"},
                   loss_of(options, plan, step));
  }
  builder.write(plan.out, plan.level == trace::Level::kFull);
}

void lose_moment(trace::Segment& segment) {
  const size_t i = capsule::test::index_of(segment, "layers.0", "exp_avg");
  std::memset(segment.values[i].data(), 0, segment.values[i].size());
  capsule::test::print_again(segment, i);
}

void write_capsules(const Options& options) {
  if (options.capsules.empty()) return;
  for (int64_t step = options.resume_step; step <= options.steps; step += options.every) {
    const bool breaks =
        std::getenv("LATE_STATE") && !options.resume.empty() && step == options.steps;
    capsule::test::write_capsule(options.capsules, {}, step,
                                 breaks ? lose_moment : capsule::test::Edit());
  }
}

}  // namespace
}  // namespace nanhunt

int main(int count, char** words) {
  const auto plan = nanhunt::trace::capture_plan_from_environment();
  if (!plan) return 2;
  const nanhunt::Options options = nanhunt::read_options(count, words);
  if (static_cast<double>(options.seed) == nanhunt::number_in("FAIL_SEED", -1)) {
    std::fprintf(stderr, "paired_job: out of luck\n");
    return 3;
  }
  nanhunt::write_trace(options, *plan);
  nanhunt::write_capsules(options);
  return 0;
}
