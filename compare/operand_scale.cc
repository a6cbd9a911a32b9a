// SPDX-License-Identifier: Apache-2.0
#include "compare/operand_scale.h"

#include <algorithm>
#include <cmath>

#include "trace/dtype.h"

namespace nanhunt::compare {
namespace {

using oracle::Logical;
using oracle::Metric;
using trace::Phase;

// Terms of independent signs leave 1 / sqrt(K) of their sizes. What is to be told from them has to
// be so many times smaller.
constexpr double kWellBelow = 4;

double roundoff_of_operands(const SideStep& side, const trace::Record& record) {
  double u = 0;
  for (const trace::Link& link : record.links) {
    const int at = side.step->find(record.where.rank, link.sequence);
    if (at < 0 || !trace::is_floating(side.record(at).storage)) continue;
    u = std::max(u, trace::unit_roundoff(side.record(at).storage));
  }
  return u;
}

// Of one record, in its own values.
std::optional<OperandScale> scale_of(const SideStep& side, int record, double lambda) {
  const auto index = static_cast<size_t>(record);
  if (index >= side.replay.terms.size() || side.replay.terms[index].norm < 0) return std::nullopt;
  const oracle::TermSize& size = side.replay.terms[index];
  const trace::Record& facts = side.record(record);
  const double roundings = std::max(1.0, size.roundings);
  const double inside = std::sqrt(roundings) * trace::unit_roundoff(facts.compute);
  const double operands = roundoff_of_operands(side, facts) / std::sqrt(roundings);
  const double subnormal = trace::min_subnormal(facts.storage) / 2 *
                           std::sqrt(static_cast<double>(facts.statistics.count));
  OperandScale scale;
  scale.terms = size.norm;
  scale.rounding = lambda * inside * size.norm + subnormal;
  scale.resolution = lambda * (inside + operands) * size.norm + subnormal;
  // Nothing is told from 0 where even independent signs would not be.
  if (scale.resolution * kWellBelow * std::sqrt(roundings) > size.norm) scale.resolution = 0;
  return scale;
}

const Logical* backward_of(const SideStep& side, const Logical& logical) {
  if (logical.what.phase != Phase::kUnscaled && logical.what.phase != Phase::kClipped)
    return nullptr;
  trace::What what = logical.what;
  what.phase = Phase::kBackward;
  return find_logical(side, what);
}

void judge(Comparison& pair, const oracle::Bounds& bounds, const std::optional<OperandScale>& mine,
           const std::optional<OperandScale>& other) {
  const double rounding = (mine ? mine->rounding : 0) + (other ? other->rounding : 0);
  const double high = std::max(bounds.hi, rounding), low = std::max(bounds.lo, rounding);
  // Without the operands the envelope alone knows, and nothing but ||d|| can be told.
  pair.scale = other && other->terms > 0 ? other->terms : 1;
  pair.metric = Metric::kOperands;
  pair.measured = pair.deviation.difference / pair.scale;
  pair.low = low / pair.scale;
  pair.high = high / pair.scale;
  pair.standing = stand(pair.measured, oracle::Bounds{pair.low, pair.high});
}

}  // namespace

std::optional<OperandScale> operand_scale(const SideStep& side, const Logical& logical,
                                          double lambda) {
  OperandScale sum;
  for (const oracle::Piece& piece : logical.pieces) {
    if (piece.region > 0) continue;  // a record's terms are known as a whole
    const auto one = scale_of(side, piece.record, lambda);
    if (!one) {
      const Logical* before = backward_of(side, logical);
      return before == nullptr ? std::nullopt : operand_scale(side, *before, lambda);
    }
    const auto add = [&](double& total, double part) {
      total = logical.partial ? total + part : std::hypot(total, part);
    };
    add(sum.terms, one->terms / logical.divisor);
    add(sum.rounding, one->rounding / logical.divisor);
    add(sum.resolution, one->resolution / logical.divisor);
  }
  if (logical.pieces.empty()) return std::nullopt;
  return sum;
}

bool is_cancelled(double reference_norm, const OperandScale& scale) {
  return reference_norm <= scale.resolution;
}

bool judge_by_operands(Comparison& pair, const SideStep& candidate, const SideStep& reference,
                       const Judge& judge_with) {
  const double lambda = (*judge_with.thresholds)["suspicious_lambda"];
  const double norm = pair.deviation.reference;
  const Logical& logical = candidate.logicals[static_cast<size_t>(pair.candidate)];
  const auto other =
      operand_scale(reference, reference.logicals[static_cast<size_t>(pair.reference)], lambda);
  if (norm > 0 && !(other && is_cancelled(norm, *other))) return false;
  const auto mine = operand_scale(candidate, logical, lambda);
  auto bounds =
      judge_with.envelope->bounds(logical.what, norm > 0 ? Metric::kNorm : Metric::kOperands,
                                  judge_with.deviations_judged, *judge_with.thresholds);
  if (bounds && norm > 0) bounds = oracle::Bounds{bounds->lo * norm, bounds->hi * norm};
  if (!bounds) {
    pair.why_not = "no envelope for this kind of site";
    return true;
  }
  // The perturbed runs never moved it: what rounding alone may do is known of the ops only.
  if (bounds->hi == 0 && !(mine && other)) {
    pair.why_not = "the reference is 0, and what it is a sum of was not computed again";
    return true;
  }
  judge(pair, *bounds, mine, other);
  return true;
}

}  // namespace nanhunt::compare
