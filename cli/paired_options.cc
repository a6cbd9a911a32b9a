// SPDX-License-Identifier: Apache-2.0
#include "cli/paired_options.h"

#include <algorithm>
#include <boost/program_options.hpp>

#include "cli/convergence_options.h"
#include "trace/error.h"

namespace nanhunt::cli {
namespace {

namespace po = boost::program_options;

constexpr int64_t kMostRuns = 10000;
// A/A pairs where nobody says: their deviation is then known to a factor of 0.66 to 2.04.
constexpr int64_t kUsualSame = 8;

[[noreturn]] void refuse(const std::string& what) {
  throw trace::Error(trace::ErrorKind::kUsage, what);
}

int count_of(int64_t number, const char* what) {
  if (number < 0 || number > kMostRuns)
    refuse(std::to_string(number) + " " + what + ": at most " + std::to_string(kMostRuns));
  return static_cast<int>(number);
}

std::optional<repro::PairedPlan> plan_with(const ablate::Case& the_case,
                                           const std::optional<int64_t>& at, int jobs,
                                           const repro::Criteria& parts) {
  const ablate::ConvergenceKeys& keys = the_case.convergence;
  if (keys.seeds.value_or(0) == 0) return std::nullopt;
  repro::PairedPlan plan;
  plan.pairing = the_case.repro == ablate::Question::kLayouts ? repro::Pairing::kLayouts
                                                              : repro::Pairing::kResume;
  plan.criteria = parts;
  plan.criteria.criteria = criteria_of(keys.margin, keys.metrics, false);
  require_valid(plan.criteria);
  plan.seeds = count_of(*keys.seeds, "seeds");
  if (counts_deviation(plan.criteria))
    plan.same = count_of(keys.same.value_or(std::max(*keys.seeds, kUsualSame)), "A/A pairs");
  plan.steps = keys.steps.value_or(the_case.steps);
  plan.at = at.value_or((the_case.capsule.resume_step + plan.steps) / 2);
  plan.loss = keys.loss;
  plan.jobs = jobs;
  plan.again = "nanhunt repro " + the_case.path.string();
  require_possible(the_case, plan);
  return plan;
}

}  // namespace

po::options_description paired_options() {
  po::options_description options("convergence");
  options.add_options()("seeds", po::value<int64_t>(),
                        "runs of so many seeds under both set-ups; their loss curves are judged")(
      "same", po::value<int64_t>(), "A/A pairs for a margin in sd (default: the seeds, 8 or more)")(
      "curve-steps", po::value<int64_t>(), "steps of each of these runs (default: the case's)")(
      "loss-site", po::value<std::string>(), "site of the loss, where the trace holds several");
  options.add(criteria_options());
  return options;
}

void set_convergence(const Parsed& parsed, ablate::ConvergenceKeys& keys) {
  const auto number = [&](const char* name, std::optional<int64_t>& key) {
    if (parsed.has(name)) key = parsed.values[name].as<int64_t>();
  };
  number("seeds", keys.seeds);
  number("same", keys.same);
  number("curve-steps", keys.steps);
  if (parsed.has("loss-site")) keys.loss = parsed.text("loss-site");
  if (parsed.has("margin")) keys.margin = words_of(parsed, "margin");
  if (parsed.has("metrics")) keys.metrics = words_of(parsed, "metrics");
  for (const char* name : {"margin", "metrics", "same", "curve-steps", "loss-site"}) {
    if (parsed.has(name) && keys.seeds.value_or(0) == 0)
      refuse("--" + std::string(name) + " needs --seeds, or `seeds` in the case's [convergence]");
  }
}

std::optional<repro::PairedPlan> paired_plan(const ablate::Case& the_case,
                                             const std::optional<int64_t>& at, int jobs) {
  return plan_with(the_case, at, jobs, {});
}

std::optional<repro::PairedPlan> paired_plan(const ablate::Case& the_case, const Parsed& parsed,
                                             int jobs) {
  std::optional<int64_t> at;
  if (parsed.has("at")) at = parsed.values["at"].as<int64_t>();
  return plan_with(the_case, at, jobs, parts_of(parsed));
}

}  // namespace nanhunt::cli
