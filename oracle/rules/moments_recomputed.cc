// SPDX-License-Identifier: Apache-2.0
// moments_recomputed: Adam's moments after the step from those before it and the clipped gradient.
//   exp_avg    = b1 exp_avg' + (1 - b1) g       linear: by sketches, bound 4u (b1 ||m'|| + (1-b1)
//   ||g||) exp_avg_sq = b2 exp_avg_sq' + (1 - b2) g^2  all terms >= 0: by the sum of the elements,
//   relative 8u
// (Kingma and Ba, Adam, 2015, algorithm 1.) Before step 1 the moments are 0. Only of ops that are
// known to keep them (oracle/adamw.h). Where Adam adds the decay to the gradient, g is g + wd
// theta of the start of the step, two roundings more; the square of that sum follows from no
// statistics, and exp_avg_sq is not judged. A step that maximizes takes -g. Updates that were not
// made (updates_made.h) are not judged.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tuple>

#include "oracle/adamw.h"
#include "oracle/rules/rule_tools.h"
#include "oracle/rules/rules.h"
#include "oracle/rules/updates_made.h"

namespace nanhunt::oracle {
namespace {

using trace::Phase;
using trace::Record;

// One parameter on one rank.
struct Update {
  const Record* gradient = nullptr;
  const Record* now = nullptr;        // the moment after the step
  const Record* before = nullptr;     // nullptr: 0
  double decay = 0;                   // what the gradient gets of the parameter
  const Record* parameter = nullptr;  // at the start of the step; where there is a decay
};

using Place = std::pair<int32_t, std::string>;

std::map<Place, const Record*> records_of(const trace::Step& step, Phase phase,
                                          const std::string& role) {
  std::map<Place, const Record*> found;
  for (const auto& record : step.records) {
    if (record.what.phase == phase && record.what.role == role) {
      found[{record.where.rank, record.what.site}] = &record;
    }
  }
  return found;
}

// A gradient may be held whole where the moment is a shard of it, or as a partial sum that the
// optimizer adds up by itself.
bool same_cells(const trace::Record& gradient, const trace::Record& moment) {
  if (gradient.local_shape != moment.local_shape) return false;
  if (!gradient.placement || !moment.placement) return true;
  const bool partial = std::ranges::any_of(
      gradient.placement->mesh,
      [](const trace::AxisPlacement& axis) { return axis.kind == trace::PlacementKind::kPartial; });
  return !partial && gradient.placement->regions == moment.placement->regions;
}

std::vector<Update> updates(const RuleInput& input, const std::string& role) {
  // What the optimizer was given: the clipped gradient, or the reduced one where nothing clips.
  auto gradients = records_of(input.step, Phase::kClipped, "grad");
  gradients.merge(records_of(input.step, Phase::kUnscaled, "grad"));
  const bool follows = input.previous != nullptr && input.previous->step + 1 == input.step.step;
  const auto before = follows ? records_of(*input.previous, Phase::kUpdate, role)
                              : std::map<Place, const Record*>{};
  const UpdatesMade updates(input);
  const auto parameters = records_of(input.step, Phase::kForward, "param");
  std::vector<Update> result;
  for (const auto& [place, now] : records_of(input.step, Phase::kUpdate, role)) {
    const auto kind = keeps_adam_moments(*now);
    if (!kind || !updates.made(place.first, place.second)) continue;
    const auto gradient = gradients.find(place);
    const auto old = before.find(place);
    const bool first = attribute(*now, "step").value_or(0) == 1;
    if (gradient == gradients.end() || (old == before.end() && !first)) continue;
    if (!same_cells(*gradient->second, *now)) continue;
    Update update{gradient->second, now, first ? nullptr : old->second};
    if (*kind == Decay::kInGradient) update.decay = attribute(*now, "weight_decay").value_or(0);
    if (update.decay != 0) {
      const auto parameter = parameters.find(place);
      if (parameter == parameters.end() || !same_cells(*parameter->second, *now)) continue;
      // The decay is of a master that is finer than the parameter, and was not captured by itself.
      if (trace::unit_roundoff(parameter->second->storage) > trace::unit_roundoff(now->compute))
        continue;
      update.parameter = parameter->second;
    }
    result.push_back(update);
  }
  return result;
}

bool masked(const Record* record) {
  return record != nullptr && record->statistics.non_finite() > 0;
}

void add_sketch(trace::Sketch& sum, const Record& record, double factor) {
  for (const auto& region : record.regions) {
    for (size_t b = 0; b < sum.size(); ++b) sum[b] += factor * region.sketch[b];
  }
}

double norm_of(const Record* record) {
  return record == nullptr ? 0 : std::sqrt(record->statistics.sum_squares);
}

double tiny(const Record& record) {
  return static_cast<double>(record.statistics.count) * trace::min_subnormal(record.storage);
}

Finding finding_of(const Record& record, double measured, double allowed,
                   const std::string& formula) {
  Finding finding = finding_about(record, "moments_recomputed", Severity::kProven);
  finding.decider = Decider::kRecomputation;
  finding.measured = measured;
  finding.allowed = allowed;
  finding.unit = record.what.role == "exp_avg" ? "norm" : "sum of elements";
  finding.evidence = "rank " + std::to_string(record.where.rank) + ": is not " + formula;
  return finding;
}

void check_first_moment(const RuleInput& input, const Update& update,
                        std::vector<Finding>& findings) {
  const auto beta = attribute(*update.now, "beta1");
  if (!beta || masked(update.now) || masked(update.before) || masked(update.gradient) ||
      masked(update.parameter)) {
    return;
  }
  trace::Sketch difference{};
  add_sketch(difference, *update.now, 1);
  if (update.before != nullptr) add_sketch(difference, *update.before, -*beta);
  const double sign = says(*update.now, "maximize") ? -1 : 1;
  add_sketch(difference, *update.gradient, sign * (*beta - 1));
  if (update.parameter != nullptr)
    add_sketch(difference, *update.parameter, update.decay * (*beta - 1));
  const double u = trace::unit_roundoff(update.now->compute);
  const double fresh = norm_of(update.gradient) + update.decay * norm_of(update.parameter);
  const double scale = *beta * norm_of(update.before) + (1 - *beta) * fresh;
  const double roundings = update.parameter == nullptr ? 4 : 6;
  const double allowed =
      input.thresholds["sketch_widening"] * roundings * u * scale + tiny(*update.now);
  const double measured = trace::sketch_norm(difference);
  if (measured > allowed) {
    findings.push_back(
        finding_of(*update.now, measured, allowed, "beta1 exp_avg + (1 - beta1) grad"));
  }
}

void check_second_moment(const Update& update, std::vector<Finding>& findings) {
  const auto beta = attribute(*update.now, "beta2");
  if (!beta || update.parameter != nullptr || masked(update.now) || masked(update.before) ||
      masked(update.gradient))
    return;
  const double before = update.before == nullptr ? 0 : update.before->statistics.sum;
  const double expected = *beta * before + (1 - *beta) * update.gradient->statistics.sum_squares;
  const double allowed =
      8 * trace::unit_roundoff(update.now->compute) * expected + tiny(*update.now);
  const double off = std::abs(update.now->statistics.sum - expected);
  if (off > allowed) {
    findings.push_back(
        finding_of(*update.now, off, allowed, "beta2 exp_avg_sq + (1 - beta2) grad^2"));
  }
}

std::vector<Finding> check(const RuleInput& input) {
  std::vector<Finding> findings;
  for (const Update& update : updates(input, "exp_avg"))
    check_first_moment(input, update, findings);
  for (const Update& update : updates(input, "exp_avg_sq")) check_second_moment(update, findings);
  return findings;
}

}  // namespace

Rule moments_recomputed() {
  return {"moments_recomputed", Severity::kProven, trace::Level::kStats,
          "Adam's moments follow from those before and the clipped gradient", check};
}

}  // namespace nanhunt::oracle
