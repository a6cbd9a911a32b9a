// SPDX-License-Identifier: Apache-2.0
#include "compare/deviations.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>

#include "compare/norm_factor.h"
#include "compare/operand_scale.h"
#include "oracle/growth.h"
#include "trace/dtype.h"

namespace nanhunt::compare {
namespace {

using oracle::Logical;
using oracle::Metric;
using trace::Phase;

// Two roundings of one value to two types differ by at most the sum of the unit roundoffs; the
// sketch estimates that norm to some 20 %, and subnormals add a little.
constexpr double kRoundingSlack = 2.0;

const trace::Record& first_record(const SideStep& side, const Logical& logical) {
  return side.record(side.step->by_what().at(logical.what).front());
}

bool initial_parameter(const Judge& judge, const trace::What& what) {
  return judge.first_step && what.phase == Phase::kForward && what.role == "param";
}

// After the first update parameters differ by whole steps of the optimizer wherever a rounding
// flipped a sign; the rules of the update judge them.
bool updated_parameter(const Judge& judge, const trace::What& what) {
  return !judge.first_step && what.phase == Phase::kForward && what.role == "param";
}

void judge_exactly(Comparison& pair, const trace::Record& a, const trace::Record& b) {
  const bool floating = trace::is_floating(a.storage) && trace::is_floating(b.storage);
  const double u = trace::unit_roundoff(a.storage) + trace::unit_roundoff(b.storage);
  pair.high = pair.low = floating && a.storage != b.storage ? kRoundingSlack * u : 0;
  pair.measured = pair.deviation.equal ? 0 : pair.deviation.norm;
  const bool within = pair.deviation.equal || (pair.high > 0 && pair.measured <= pair.high);
  pair.standing = within ? Standing::kWithin : Standing::kOut;
}

// Not the column: a healthy run in FP16 was out of its pool (docs/rules.md).
constexpr Metric kOfValues[] = {Metric::kRow, Metric::kElement, Metric::kSign};

// A rounding of a factor that all values share, in the type that the op computes in, is so many
// times less than a rounding of the values.
constexpr double kMuchCoarser = 16;

void judge_metric(Comparison& pair, const Judge& judge, const trace::What& what, Metric metric,
                  double value, double& worst) {
  const auto bounds =
      judge.envelope->bounds(what, metric, judge.deviations_judged, *judge.thresholds);
  if (!bounds) return;
  const Standing standing = stand(value, bounds);
  const double excess = value / std::max(bounds->hi, 1e-300);
  if (standing < pair.standing || (standing == pair.standing && excess <= worst)) return;
  pair.standing = standing;
  pair.metric = metric;
  pair.measured = value;
  pair.low = bounds->lo;
  pair.high = bounds->hi;
  worst = excess;
}

// `deviation`: the pair's, without what is explained.
void judge_by_envelope(Comparison& pair, const Judge& judge, const trace::What& what,
                       const oracle::Deviation& deviation) {
  double worst = -1;
  judge_metric(pair, judge, what, Metric::kNorm, deviation.norm, worst);
  for (const Metric metric : kOfValues) {
    const double value = value_of(deviation, metric);
    if (value >= 0) judge_metric(pair, judge, what, metric, value, worst);
  }
  if (pair.standing == Standing::kUnjudged) pair.why_not = "no envelope for this kind of site";
}

// Out by itself, where its own deviation is in doubt: not where that is healthy.
void judge_by_growth(Comparison& pair, const Judge& judge, const trace::What& what,
                     const std::vector<int>& inputs, const std::vector<double>& errors) {
  if (pair.standing != Standing::kUndecided || pair.metric == Metric::kOperands) return;
  const auto healthy_in = judge.envelope->healthy(what, Metric::kInputs);
  const auto bounds =
      judge.envelope->bounds(what, Metric::kGrowth, judge.deviations_judged, *judge.thresholds);
  const auto in = oracle::error_in(inputs, errors);
  if (!healthy_in || !bounds || !in) return;
  const double growth = oracle::growth(pair.deviation.norm, *in, *healthy_in);
  if (growth <= bounds->hi) return;
  pair.standing = Standing::kOut;
  pair.metric = Metric::kGrowth;
  pair.measured = growth;
  pair.low = bounds->lo;
  pair.high = bounds->hi;
}

// The reference says what goes into what: it is the same in every layout.
void judge_by_growth(std::vector<Comparison>& pairs, const SideStep& candidate,
                     const SideStep& reference, const Judge& judge) {
  if (judge.envelope == nullptr) return;
  std::vector<double> errors(reference.logicals.size(), -1);
  for (const Comparison& pair : pairs) {
    if (pair.deviation.equal || pair.deviation.comparable)
      errors[static_cast<size_t>(pair.reference)] = pair.deviation.equal ? 0 : pair.deviation.norm;
  }
  const auto inputs = oracle::linked_inputs(*reference.step, reference.logicals);
  for (Comparison& pair : pairs) {
    judge_by_growth(pair, judge, candidate.logicals[static_cast<size_t>(pair.candidate)].what,
                    inputs[static_cast<size_t>(pair.reference)], errors);
  }
}

Comparison judge_pair(const SideStep& candidate, const SideStep& reference, const Judge& judge,
                      const NormFactor& factor, int a, int b) {
  const Logical& mine = candidate.logicals[static_cast<size_t>(a)];
  const Logical& other = reference.logicals[static_cast<size_t>(b)];
  Comparison pair;
  pair.candidate = a;
  pair.reference = b;
  pair.rule = "reference_envelope";
  if (!by_envelope(mine.what.phase) || updated_parameter(judge, mine.what)) {
    pair.why_not = kByRulesOnly;
    return pair;
  }
  pair.deviation = oracle::deviation(*candidate.step, mine, candidate.source->reader,
                                     *reference.step, other, reference.source->reader);
  const auto& first = first_record(candidate, mine);
  const auto& second = first_record(reference, other);
  const bool integers = !trace::is_floating(first.storage) && !trace::is_floating(second.storage);
  // Said of equal tensors too: further copies of them are judged by the same rule (held_parts.h).
  if (integers) pair.rule = "same_data";
  if (!integers && initial_parameter(judge, mine.what)) pair.rule = "initial_state";
  if (pair.deviation.equal) {
    pair.standing = Standing::kWithin;
    return pair;
  }
  if (integers) {
    if (mine.complete && other.complete && mine.shape == other.shape) {
      pair.standing = Standing::kOut;
    } else {
      pair.why_not = pair.deviation.why_not;
    }
    return pair;
  }
  if (!pair.deviation.comparable) {
    pair.why_not = pair.deviation.why_not;
    return pair;
  }
  if (pair.rule == "initial_state") {
    judge_exactly(pair, first, second);
  } else if (judge.envelope == nullptr) {
    pair.why_not = "no envelope";
  } else if (!judge_by_operands(pair, candidate, reference, judge)) {
    oracle::Deviation left = without_norm_factor(pair.deviation, factor, mine, other);
    if (!is_sign_judged(first, second)) left.sign = 0;
    judge_by_envelope(pair, judge, mine.what, left);
  }
  return pair;
}

}  // namespace

bool by_envelope(Phase phase) {
  return phase != Phase::kUpdate && phase != Phase::kParamSync && phase != Phase::kPreCollective &&
         phase != Phase::kPostCollective && phase != Phase::kState;
}

std::string unit_of(Metric metric) {
  if (metric == Metric::kOperands) return "relative to its operands";
  if (metric == Metric::kSign) return "excess of one sign over root n";
  if (metric == Metric::kGrowth) return "error out over error in";
  return "relative " + std::string(name_of(metric));
}

int64_t count_deviations(const SideStep& side) {
  int64_t count = 0;  // norm and growth, and what values add
  for (const Logical& logical : side.logicals) {
    const bool values = side.source->reader != nullptr && has_values(*side.step, logical);
    count += 2 + (values ? static_cast<int64_t>(std::size(kOfValues)) : 0);
  }
  return count;
}

bool is_sign_judged(const trace::Record& candidate, const trace::Record& reference) {
  const auto coarser = [&](trace::DType a, trace::DType b) {
    return std::max(trace::unit_roundoff(a), trace::unit_roundoff(b));
  };
  return coarser(candidate.storage, reference.storage) >=
         kMuchCoarser * coarser(candidate.compute, reference.compute);
}

Standing stand(double norm, const std::optional<oracle::Bounds>& bounds) {
  if (!bounds) return Standing::kUnjudged;
  if (!(norm <= bounds->hi)) return Standing::kOut;
  return norm < bounds->lo ? Standing::kWithin : Standing::kUndecided;
}

std::optional<oracle::Bounds> norm_bounds(const Judge& judge, const trace::What& what) {
  if (judge.envelope == nullptr || !by_envelope(what.phase)) return std::nullopt;
  return judge.envelope->bounds(what, Metric::kNorm, judge.deviations_judged, *judge.thresholds);
}

Comparisons compare_steps(const SideStep& candidate, const SideStep& reference,
                          const Judge& judge) {
  Comparisons result;
  const NormFactor factor = norm_factor(candidate, reference, *judge.thresholds);
  const auto& mine = candidate.logicals;
  const auto& other = reference.logicals;
  size_t a = 0, b = 0;
  while (a < mine.size() || b < other.size()) {
    if (b == other.size() || (a < mine.size() && mine[a].what < other[b].what)) {
      result.only_candidate.push_back(static_cast<int>(a++));
    } else if (a == mine.size() || other[b].what < mine[a].what) {
      result.only_reference.push_back(static_cast<int>(b++));
    } else {
      result.pairs.push_back(judge_pair(candidate, reference, judge, factor, static_cast<int>(a++),
                                        static_cast<int>(b++)));
      result.compared += result.pairs.back().standing != Standing::kUnjudged;
    }
  }
  judge_by_growth(result.pairs, candidate, reference, judge);
  return result;
}

}  // namespace nanhunt::compare
