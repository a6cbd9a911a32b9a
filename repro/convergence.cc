// SPDX-License-Identifier: Apache-2.0
#include "repro/convergence.h"

#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>
#include <cmath>
#include <limits>

#include "compare/numbers.h"
#include "repro/power.h"
#include "trace/error.h"

namespace nanhunt::repro {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr int kCannotTell = 125;

struct Split {
  std::vector<std::string> notes;
  bool one_side = false;  // a pair with NaN or Inf on one side alone
};

std::string files_of(const CurvePair& pair) {
  return pair.a.path.string() + ", " + pair.b.path.string();
}

std::string pair_text(size_t index, const CurvePair& pair) {
  return "pair " + std::to_string(index + 1) + " (" + files_of(pair) + ")";
}

void require_separate(const CurvePair& same, const std::vector<CurvePair>& pairs) {
  for (const Curve* curve : {&same.a, &same.b}) {
    const auto& path = curve->path;
    const auto used = std::ranges::find_if(
        pairs, [&](const CurvePair& pair) { return pair.a.path == path || pair.b.path == path; });
    if (used == pairs.end()) continue;
    throw trace::Error(trace::ErrorKind::kUsage,
                       path.string() +
                           " is in an A/A pair and in a pair to be judged; the spread "
                           "must come from separate runs");
  }
}

// Bit-equal curves on both sides: one seed that was given twice, and counts once.
bool is_copy(const CurvePair& one, const CurvePair& other) {
  const auto finite = [](const Curve& curve) { return !first_non_finite(curve); };
  return finite(one.a) && finite(one.b) && one.a.steps == other.a.steps &&
         one.a.losses == other.a.losses && one.b.losses == other.b.losses &&
         one.a.quality == other.a.quality && one.b.quality == other.b.quality;
}

std::vector<CurvePair> without_copies(const std::vector<CurvePair>& pairs, const std::string& kind,
                                      std::vector<std::string>& notes) {
  std::vector<CurvePair> kept;
  for (size_t i = 0; i < pairs.size(); ++i) {
    const auto copy =
        std::ranges::find_if(kept, [&](const CurvePair& one) { return is_copy(one, pairs[i]); });
    if (copy == kept.end()) {
      kept.push_back(pairs[i]);
    } else {
      notes.push_back(kind + pair_text(i, pairs[i]) + " holds the same values as the pair of " +
                      copy->a.path.string() + ": one seed, counted once");
    }
  }
  return kept;
}

void note_non_finite(size_t index, const CurvePair& pair, Split& split) {
  const auto a = first_non_finite(pair.a), b = first_non_finite(pair.b);
  if (!a && !b) return;
  const std::string at = pair_text(index, pair) + " went to NaN or Inf ";
  if (a && b) {
    split.notes.push_back(at + "on both sides: A at step " + std::to_string(*a) + ", B at step " +
                          std::to_string(*b) + "; it cannot tell");
    return;
  }
  split.one_side = true;
  split.notes.push_back(at +
                        (a ? "on side A only, at step " + std::to_string(*a)
                           : "on side B only, at step " + std::to_string(*b)) +
                        ": that is a difference, which no average over seeds hides");
}

Pair values_of(const CurvePair& pair, Metric metric, const Fractions& fractions) {
  const Pair values{summarise(pair.a, metric, fractions), summarise(pair.b, metric, fractions)};
  const bool loss_only = metric != Metric::kQuality;
  const bool both = loss_only && first_non_finite(pair.a) && first_non_finite(pair.b);
  // Which of two lost runs was lost first, a part's end must not decide.
  if (both && !(std::isfinite(values.a) && std::isfinite(values.b))) return {kNan, kNan};
  return values;
}

Spread spread_of(const std::vector<CurvePair>& same, Metric metric, const Criteria& criteria) {
  std::vector<double> differences;
  for (const CurvePair& pair : same) {
    const Pair values = values_of(pair, metric, criteria.fractions);
    differences.push_back(values.b - values.a);
    if (std::isfinite(differences.back())) continue;
    throw trace::Error(trace::ErrorKind::kUnreadable,
                       "the A/A pair " + files_of(pair) + " has no finite " +
                           std::string(name_of(metric)) + ": no spread can be taken from it");
  }
  const double freedom = static_cast<double>(differences.size()) - 1;
  const boost::math::chi_squared squares(freedom);
  const double sd = moments(differences).sd;
  return {static_cast<int>(differences.size()), sd,
          sd * std::sqrt(freedom / quantile(complement(squares, 0.025))),
          sd * std::sqrt(freedom / quantile(squares, 0.025))};
}

double margin_of(const Criterion& criterion, const std::optional<Spread>& spread) {
  if (!criterion.margin.of_deviation) return criterion.margin.value;
  const std::string name(name_of(criterion.metric));
  if (!spread) {
    throw trace::Error(trace::ErrorKind::kUsage,
                       "the margin of " + name + " is " + margin_text(criterion.margin) +
                           ", and there are not two A/A pairs to take the deviation from");
  }
  const double margin = criterion.margin.value * spread->sd;
  require_margin(margin, name + ", " + margin_text(criterion.margin) + " of the A/A pairs,");
  return margin;
}

void add_power(int pairs, double alpha, MetricResult& result) {
  const double sd = result.spread && result.spread->sd > 0 ? result.spread->sd : result.test.sd;
  // No spread at all: whatever the margin, it is infinitely many of them.
  result.margin_over_sd = result.margin / sd;
  if (std::isnan(result.margin_over_sd) || !(result.margin_over_sd > 0)) return;
  if (pairs >= 2) result.power = power({pairs, result.margin_over_sd, alpha});
  result.seeds = seeds_needed(result.margin_over_sd, alpha);
}

MetricResult judge_metric(const Criterion& criterion, const Criteria& criteria,
                          const std::vector<CurvePair>& pairs, const std::vector<CurvePair>& same) {
  MetricResult result;
  result.metric = criterion.metric;
  if (!pairs.empty()) {
    result.steps = steps_of(pairs.front().a, criterion.metric, criteria.fractions);
  }
  if (same.size() >= 2) result.spread = spread_of(same, criterion.metric, criteria);
  result.margin = margin_of(criterion, result.spread);
  for (const CurvePair& pair : pairs) {
    result.values.push_back(values_of(pair, criterion.metric, criteria.fractions));
  }
  result.test = test_equivalence(result.values, result.margin, criteria.alpha);
  add_power(static_cast<int>(pairs.size()), criteria.alpha, result);
  return result;
}

// The parts of all curves must be of the same steps, or one seed's number is not the next one's.
void require_comparable(const std::vector<CurvePair>& pairs, const std::vector<CurvePair>& same) {
  for (const auto* group : {&pairs, &same}) {
    for (const CurvePair& pair : *group) {
      require_same_steps(pair.a, pair.b);
      require_same_steps(pairs.empty() ? same.front().a : pairs.front().a, pair.a);
    }
  }
  for (const CurvePair& pair : same) require_separate(pair, pairs);
}

void add_coverage(const std::vector<CurvePair>& pairs, const std::vector<CurvePair>& same,
                  Convergence& result) {
  for (const CurvePair& pair : pairs) result.pairs.push_back(files_of(pair));
  result.same_pairs = static_cast<int>(same.size());
  if (pairs.empty()) return;
  const auto& steps = pairs.front().a.steps;
  result.first_step = steps.front();
  result.last_step = steps.back();
  result.steps = static_cast<int64_t>(steps.size());
}

std::string reason_of(const Convergence& result, bool one_side) {
  if (one_side) return "NaN or Inf on one side only";
  std::vector<std::string> named;
  for (const MetricResult& metric : result.metrics) {
    if (metric.test.decision != result.decision) continue;
    named.push_back(std::string(name_of(metric.metric)));
  }
  return compare::join(named, ", ") + (named.size() == 1 ? " is " : " are ") +
         std::string(name_of(result.decision));
}

}  // namespace

Convergence judge(const Criteria& criteria, const std::vector<CurvePair>& given,
                  const std::vector<CurvePair>& given_same) {
  require_valid(criteria);
  Convergence result;
  result.criteria = criteria;
  result.thresholds_sha256 = sha256(criteria);
  require_comparable(given, given_same);
  const auto pairs = without_copies(given, "", result.notes);
  const auto same = without_copies(given_same, "A/A ", result.notes);
  if (same.size() == 1) result.notes.push_back("one A/A pair alone shows no spread");
  Split split;
  for (size_t i = 0; i < pairs.size(); ++i) note_non_finite(i, pairs[i], split);
  result.notes.insert(result.notes.end(), split.notes.begin(), split.notes.end());
  add_coverage(pairs, same, result);
  result.curves = drawn(pairs);
  std::vector<Decision> decisions;
  for (const Criterion& criterion : criteria.criteria) {
    result.metrics.push_back(judge_metric(criterion, criteria, pairs, same));
    decisions.push_back(result.metrics.back().test.decision);
  }
  result.decision = split.one_side ? Decision::kDifferent : overall(decisions);
  result.reason = reason_of(result, split.one_side);
  return result;
}

int exit_status(Decision decision) {
  switch (decision) {
    case Decision::kEquivalent:
      return 0;
    case Decision::kDifferent:
      return 1;
    case Decision::kUnknown:
      break;
  }
  return kCannotTell;
}

}  // namespace nanhunt::repro
