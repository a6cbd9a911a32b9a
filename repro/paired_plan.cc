// SPDX-License-Identifier: Apache-2.0
#include "repro/paired_plan.h"

#include <algorithm>
#include <charconv>

#include "compare/numbers.h"
#include "repro/power.h"
#include "trace/error.h"

namespace nanhunt::repro {
namespace {

using ablate::Case;

constexpr int kFewestPairs = 2;

[[noreturn]] void refuse(const std::string& what) {
  throw trace::Error(trace::ErrorKind::kUsage, what);
}

std::string range_text(int64_t first, int count) {
  return "seeds " + std::to_string(first) + " to " + std::to_string(first + count - 1);
}

}  // namespace

bool counts_deviation(const Criteria& criteria) {
  return std::ranges::any_of(
      criteria.criteria, [](const Criterion& criterion) { return criterion.margin.of_deviation; });
}

int64_t first_seed(const Case& the_case) {
  const std::string& name = the_case.subject.seed;
  const std::string& text = the_case.failing.at(name);
  int64_t seed = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (error != std::errc() || stop != text.data() + text.size()) {
    refuse(the_case.path.string() + ": " + name + " is '" + text +
           "', no whole number to count seeds from");
  }
  return seed;
}

void require_possible(const Case& the_case, const PairedPlan& plan) {
  const ablate::Subject& subject = the_case.subject;
  if (subject.seed.empty()) {
    refuse(subject.path.string() +
           " has no seed to run several of: name the parameter by `seed = NAME`, or call it seed");
  }
  first_seed(the_case);
  if (plan.seeds < kFewestPairs)
    refuse("--seeds " + std::to_string(plan.seeds) + ": one pair alone shows no spread");
  if (counts_deviation(plan.criteria) && plan.same < kFewestPairs) {
    refuse(std::to_string(plan.same) +
           " A/A pairs: a margin in sd takes the deviation of two or more (--same)");
  }
  if (plan.pairing == Pairing::kLayouts) {
    if (plan.steps > the_case.capsule.resume_step) return;
    refuse("runs of " + std::to_string(plan.steps) + " steps, and the case begins at step " +
           std::to_string(the_case.capsule.resume_step));
  }
  if (subject.capsules.empty() || subject.resume.empty()) {
    refuse(subject.path.string() + " has no `capsules =` and `resume =`: its runs cannot be saved");
  }
  if (plan.at <= the_case.capsule.resume_step || plan.at >= plan.steps) {
    refuse("step " + std::to_string(plan.at) + " is not inside the " + std::to_string(plan.steps) +
           " steps of each run; --at and --curve-steps set them");
  }
}

std::string price_text(const Case& the_case, const PairedPlan& plan) {
  const int64_t first = first_seed(the_case);
  std::string text = std::to_string(plan.seeds) + " pairs (" + range_text(first, plan.seeds) + ")";
  if (plan.same > 0) {
    text += " and " + std::to_string(plan.same) + " A/A pairs (" +
            range_text(first + plan.seeds, plan.same) + ")";
  }
  text += " of " + std::to_string(plan.steps) +
          " steps: " + std::to_string(2 * plan.seeds + 2 * plan.same) + " runs";
  for (const Criterion& criterion : plan.criteria.criteria) {
    if (!criterion.margin.of_deviation) continue;
    text +=
        "; power " +
        compare::short_number(power({plan.seeds, criterion.margin.value, plan.criteria.alpha})) +
        " at margin " + margin_text(criterion.margin);
    break;
  }
  return text;
}

}  // namespace nanhunt::repro
