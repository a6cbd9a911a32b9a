// SPDX-License-Identifier: Apache-2.0
// Which noise in a reference run stands for what the candidate does differently. Derivation in
// docs/rules.md, section "Envelopes".
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>
#include <tuple>

#include "oracle/envelope.h"
#include "oracle/logical.h"
#include "oracle/rules/rule_tools.h"

namespace nanhunt::oracle {
namespace {

using trace::DType;
using trace::Phase;
using Place = std::tuple<std::string, Phase, std::string>;  // kind of site, phase, role

struct Facts {
  double unit_roundoff = 0;  // of the rounding, with what sums inside the op add
  std::set<std::string> ops;
  double partial_sums = 1;  // most terms that a reduction adds at this kind of site and role
  double rounding = 0;      // relative error that the trace followed
  double operands = 0;      // relative error of recorded FP8 operands
  double absolute = 0;      // of a rounding below the normal range, of the logical value
  double divisor = 1;       // of the values recorded there
};

bool carries_noise(const trace::Record& record) {
  const Phase phase = record.what.phase;
  return (phase == Phase::kForward || phase == Phase::kLoss || phase == Phase::kBackward) &&
         trace::is_floating(record.storage) && !trace::is_fp8(record.storage) &&
         record.what.role != "param";
}

using Places = std::map<Place, Facts>;

// Sums inside an op: K terms in any order cost about sqrt(K) u / 2 of the type they accumulate in.
// K is not recorded; the longest last dimension of the step stands for it.
double accumulated(double unit_roundoff, double longest) {
  return unit_roundoff * std::sqrt(longest) / 2;
}

double longest_row(const trace::Step& step) {
  int64_t longest = 1;
  for (const auto& record : step.records) {
    if (record.placement && !record.placement->logical_shape.empty()) {
      longest = std::max(longest, record.placement->logical_shape.back());
    }
  }
  return static_cast<double>(longest);
}

bool of_layout(const trace::Record& record) {
  return record.what.phase == Phase::kPreCollective || record.what.phase == Phase::kPostCollective;
}

// Squares of the errors by rounding that the trace followed, by index of record. A collective only
// passes on what its operands had, and the other layout has no record of it: a record behind it has
// the error of before it.
std::vector<double> followed_rounding(const trace::Step& step) {
  std::vector<double> squares(step.records.size());
  for (const auto& [place, index] : step.record_index) {  // per rank in program order
    const auto& record = record_at(step, index);
    double before = 0;
    for (const auto& link : record.links) {
      const int source = step.find(record.where.rank, link.sequence);
      if (source < 0 || link.sequence >= record.where.sequence) continue;
      if (of_layout(record_at(step, source)))
        before = std::max(before, squares[static_cast<size_t>(source)]);
    }
    squares[static_cast<size_t>(index)] = before + double{record.rounding} * record.rounding;
  }
  return squares;
}

Places places_of(const trace::Step& step) {
  Places places;
  const double longest = longest_row(step);
  const std::vector<double> rounding = followed_rounding(step);
  for (size_t i = 0; i < step.records.size(); ++i) {
    const auto& record = step.records[i];
    if (!carries_noise(record)) continue;
    auto& place = places[{trace::site_kind(record.what.site), record.what.phase, record.what.role}];
    const double inside = accumulated(trace::unit_roundoff(record.compute), longest);
    place.unit_roundoff =
        std::max(place.unit_roundoff, std::hypot(trace::unit_roundoff(record.storage), inside));
    place.ops.insert(record.op);
    const double divisor = record.placement ? divisor_of(*record.placement) : 1;
    place.divisor = std::max(place.divisor, divisor);
    place.absolute =
        std::max(place.absolute, trace::min_subnormal(record.storage) / 2 / divisor);
    // Casts and ops that no record shows.
    place.rounding = std::max(place.rounding, std::sqrt(rounding[i]));
  }
  for (const auto& entry : step.collectives) {
    if (!entry.is_reduction() || entry.reduce != trace::ReduceOp::kSum) continue;
    for (size_t k = 0; k < entry.outputs.size(); ++k) {
      const auto* record = result(step, entry, k);
      if (record == nullptr) continue;
      const std::string kind = trace::site_kind(record->what.site);
      for (const Phase phase : {Phase::kForward, Phase::kLoss, Phase::kBackward}) {
        const auto found = places.find({kind, phase, record->what.role});
        if (found == places.end()) continue;
        found->second.partial_sums =
            std::max(found->second.partial_sums, static_cast<double>(entry.group.size()));
      }
    }
  }
  return places;
}

// Quantised operands: relative error of a product of two operands with relative rounding errors u1,
// u2 that are independent is sqrt(u1^2 + u2^2) of its norm. The product itself carries it forward;
// in backward it reaches the parameter's gradient and the gradient of the site that produced the
// input.
void add_fp8(const trace::Step& step, Places& places) {
  const double forward = std::sqrt(2.0) * trace::unit_roundoff(DType::kFloat8E4M3);
  const double backward = std::hypot(trace::unit_roundoff(DType::kFloat8E5M2),
                                     trace::unit_roundoff(DType::kFloat8E4M3));
  const auto raise = [&](const Place& place, double relative) {
    const auto found = places.find(place);
    if (found != places.end()) found->second.operands = std::max(found->second.operands, relative);
  };
  for (const auto& record : step.records) {
    if (!trace::is_fp8(record.storage) || record.what.phase != Phase::kForward) continue;
    const std::string kind = trace::site_kind(record.what.site);
    raise({kind, Phase::kForward, "output"}, forward);
    raise({kind, Phase::kBackward, "grad_input"}, backward);
    raise({kind + ".weight", Phase::kBackward, "grad"}, backward);
    raise({kind + ".bias", Phase::kBackward, "grad"}, backward);
    for (const auto& link : record.links) {
      const int source = step.find(record.where.rank, link.sequence);
      if (source < 0) continue;
      raise({trace::site_kind(record_at(step, source).what.site), Phase::kBackward, "grad_output"},
            backward);
    }
  }
}

// A site that two different implementations compute: one rounding more inside each of them, at
// other places (attention: probabilities before they meet the values).
const double kOtherImplementation = std::sqrt(2.0);

// Noise of relative size u stands for one rounding on each side. A sum of n rounded terms costs the
// candidate up to n + 1 (the terms together one, as their squares add up to the whole's; n - 1
// sums; the result), the reference one.
double split_factor(double terms) {
  return terms > 1 ? std::sqrt((terms + 2) / 2) : 1;
}

// What the roundings of both sides count beside a single one on each.
double rounding_factor(const Facts& candidate, const Facts& reference) {
  const double split = split_factor(std::max(candidate.partial_sums, reference.partial_sums));
  return candidate.ops != reference.ops ? split * kOtherImplementation : split;
}

// What the traces followed counts from so many times the rounding of the types on: four roundings
// where two are expected. Trials that differ by less share an envelope.
constexpr double kManyRoundings = 2;

double relative_noise(const Facts& candidate, const Facts& reference) {
  return std::max(candidate.unit_roundoff, reference.unit_roundoff) *
         rounding_factor(candidate, reference);
}

// So many roundings are those of operands: what the result itself is rounded to counts once.
double operand_noise(const Facts& candidate, const Facts& reference) {
  const double followed = std::max(candidate.rounding, reference.rounding);
  const bool many = followed >= kManyRoundings * relative_noise(candidate, reference);
  return std::max({many ? followed : 0, candidate.operands, reference.operands});
}

// In the reference's own values.
double absolute_noise(const Facts& candidate, const Facts& reference) {
  return std::max(candidate.absolute, reference.absolute) * reference.divisor *
         rounding_factor(candidate, reference);
}

std::string key_of(const std::vector<trace::NoiseRule>& noise) {
  std::string text;
  for (const auto& rule : noise) {
    char number[64];
    std::snprintf(number, sizeof number, "%.6g|%.6g|%.6g", rule.relative, rule.absolute,
                  rule.operands);
    text += rule.site + "|" + rule.phase + "|" + rule.role + "|" + number + "\n";
  }
  char key[20];
  std::snprintf(key, sizeof key, "%016llx",
                static_cast<unsigned long long>(XXH64(text.data(), text.size(), 0)));
  return key;
}

}  // namespace

NoisePlan noise_plan(const trace::TraceReader& candidate, const trace::TraceReader& reference,
                     uint64_t seed) {
  NoisePlan plan;
  plan.perturbation.seed = seed;
  plan.perturbation.ulp_parameters = false;
  const auto candidate_steps = candidate.steps(), reference_steps = reference.steps();
  if (candidate_steps.empty() || reference_steps.empty()) return plan;
  const auto candidate_step = candidate.read_step(candidate_steps.front());
  const auto reference_step = reference.read_step(reference_steps.front());
  auto theirs = places_of(candidate_step), ours = places_of(reference_step);
  add_fp8(candidate_step, theirs);
  add_fp8(reference_step, ours);
  for (const auto& [place, facts] : ours) {
    const auto found = theirs.find(place);
    const Facts& other = found == theirs.end() ? facts : found->second;
    plan.perturbation.noise.push_back({std::get<0>(place), std::get<2>(place),
                                       std::string(trace::name_of(std::get<1>(place))),
                                       relative_noise(other, facts), absolute_noise(other, facts),
                                       operand_noise(other, facts)});
  }
  plan.key = key_of(plan.perturbation.noise);
  return plan;
}

}  // namespace nanhunt::oracle
