// SPDX-License-Identifier: Apache-2.0
// parameter_moved: a parameter whose moments say that it must have moved has not. Adam moves the
// element with the largest |m| by at least
//   lr (max|m| / (1 - b1^t)) / (sqrt(max v / (1 - b2^t)) + eps)
// since no v exceeds the largest. Where that is more than 2 u max|theta|, a change of less than
// half the last place cannot hide it: a parameter that ends the step as it began it was not
// updated. One that moved wrongly is no matter of this rule.
#include <cmath>
#include <map>

#include "oracle/adamw.h"
#include "oracle/rules/rule_tools.h"
#include "oracle/rules/rules.h"
#include "oracle/rules/updates_made.h"

namespace nanhunt::oracle {
namespace {

using trace::Phase;
using trace::Record;

struct Parameter {
  const Record *start = nullptr, *end = nullptr, *exp_avg = nullptr, *exp_avg_sq = nullptr;

  bool complete() const { return start && end && exp_avg && exp_avg_sq; }
};

std::map<std::pair<int32_t, std::string>, Parameter> parameters(const trace::Step& step) {
  std::map<std::pair<int32_t, std::string>, Parameter> found;
  for (const Record& record : step.records) {
    Parameter& parameter = found[{record.where.rank, record.what.site}];
    if (record.what.role == "param" && record.what.phase == Phase::kForward)
      parameter.start = &record;
    if (record.what.phase != Phase::kUpdate) continue;
    if (record.what.role == "param") parameter.end = &record;
    if (record.what.role == "exp_avg") parameter.exp_avg = &record;
    if (record.what.role == "exp_avg_sq") parameter.exp_avg_sq = &record;
  }
  return found;
}

double largest(const Record& record) {
  return std::max(std::abs(record.statistics.min), std::abs(record.statistics.max));
}

// Lower bound of the largest update of an element; 0 when it is not known.
double least_update(const Parameter& parameter) {
  if (!divides_by_recorded_moment(*parameter.end)) return 0;  // others may move by less
  const auto value = [&](const char* name) { return attribute(*parameter.end, name); };
  const auto lr = value("lr"), beta1 = value("beta1"), beta2 = value("beta2"), eps = value("eps"),
             step = value("step");
  if (!lr || !beta1 || !beta2 || !eps || !step || *step < 1) return 0;
  if (parameter.exp_avg->statistics.non_finite() > 0 ||
      parameter.exp_avg_sq->statistics.non_finite() > 0) {
    return 0;
  }
  const double m = largest(*parameter.exp_avg) / (1 - std::pow(*beta1, *step));
  const double v = largest(*parameter.exp_avg_sq) / (1 - std::pow(*beta2, *step));
  return *lr * m / (std::sqrt(v) + *eps);
}

std::vector<Finding> check(const RuleInput& input) {
  const UpdatesMade updates(input);
  std::map<trace::What, Finding> by_tensor;
  for (const auto& [place, parameter] : parameters(input.step)) {
    if (!updates.made(place.first, place.second)) continue;
    if (!parameter.complete() || parameter.start->raw_digest != parameter.end->raw_digest) continue;
    const double update = least_update(parameter);
    const double hidden =
        2 * trace::unit_roundoff(parameter.end->storage) * largest(*parameter.end) +
        trace::min_subnormal(parameter.end->storage);
    if (!(update > hidden)) continue;
    const auto found = by_tensor.find(parameter.end->what);
    if (found != by_tensor.end()) {
      add_record(found->second, *parameter.end);
      continue;
    }
    Finding finding = finding_about(*parameter.end, "parameter_moved", Severity::kProven);
    finding.decider = Decider::kRecomputation;
    finding.measured = 0;
    finding.allowed = update;
    finding.unit = "largest change of an element";
    finding.evidence = "ends the step as it began it; its moments move an element by at least " +
                       short_number(update);
    by_tensor.emplace(parameter.end->what, std::move(finding));
  }
  std::vector<Finding> findings;
  for (auto& [what, finding] : by_tensor) findings.push_back(std::move(finding));
  return findings;
}

}  // namespace

Rule parameter_moved() {
  return {"parameter_moved", Severity::kProven, trace::Level::kStats,
          "a parameter moves when its moments say so", check};
}

}  // namespace nanhunt::oracle
