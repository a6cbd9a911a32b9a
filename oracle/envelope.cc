// SPDX-License-Identifier: Apache-2.0
#include "oracle/envelope.h"

#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/fisher_f.hpp>
#include <cmath>
#include <iterator>

namespace nanhunt::oracle {
namespace {

// Running mean and variance (Welford).
struct Moments {
  int64_t n = 0;
  double mean = 0, m2 = 0, largest = 0;

  void add(double metric) {
    const double square = metric * metric;
    ++n;
    const double delta = square - mean;
    mean += delta / static_cast<double>(n);
    m2 += delta * (square - mean);
    largest = std::max(largest, metric);
  }
};

constexpr std::string_view kMetricNames[] = {"norm",   "row",      "element",
                                             "column", "operands", "sign"};
static_assert(std::size(kMetricNames) == kMetrics);

using Pools = std::map<PoolKey, Moments>;

void add_metric(Pools& pools, const trace::What& what, Metric metric, double value) {
  if (value < 0 || !std::isfinite(value)) return;
  pools[{what.site, what.phase, what.role, what.step, metric}].add(value);
}

// A step of the unperturbed run.
struct Base {
  const trace::TraceReader& reader;
  const trace::Step& step;
  const std::vector<Logical>& logicals;
};

void add_step(Pools& pools, const Base& base, const trace::TraceReader& perturbed) {
  const trace::Step step = perturbed.read_step(base.step.step);
  std::map<trace::What, const Logical*> reference;
  for (const auto& logical : base.logicals) reference[logical.what] = &logical;
  for (const auto& logical : assemble(step, perturbed.facts())) {
    const auto found = reference.find(logical.what);
    if (found == reference.end()) continue;
    const auto d = deviation(step, logical, &perturbed, base.step, *found->second, &base.reader);
    if (!d.comparable) continue;
    if (d.reference == 0) {
      add_metric(pools, logical.what, Metric::kOperands, d.difference);
      continue;
    }
    for (const Metric metric :
         {Metric::kNorm, Metric::kRow, Metric::kColumn, Metric::kElement, Metric::kSign})
      add_metric(pools, logical.what, metric, value_of(d, metric));
  }
}

double quantile_of_f(double probability, double nu1, double nu2) {
  return boost::math::quantile(boost::math::fisher_f(nu1, nu2), probability);
}

// Degrees of freedom of the scaled chi-square with this relative variance; the lower end of what
// the draws allow at 95 %, because too many of them make the tail too short.
double degrees_of_freedom(const Pool& pool) {
  if (pool.kind_freedom < 2 || pool.relative_variance <= 0) return 1;
  const double free = static_cast<double>(pool.kind_freedom);
  const double low = boost::math::quantile(boost::math::chi_squared(free), 0.05) / free;
  return std::clamp(2 / pool.relative_variance * low, 1.0, 1e4);
}

// Relative variance of the square within the sites of a kind, all together.
struct KindVariance {
  double sum = 0;  // of squared relative deviations from each site's mean
  int64_t freedom = 0;
};

PoolKey kind_of(const PoolKey& key) {
  return {trace::site_kind(key.site), key.phase, key.role, key.step, key.metric};
}

}  // namespace

std::string_view name_of(Metric metric) {
  return kMetricNames[static_cast<size_t>(metric)];
}

Bounds bounds_of(const Pool& pool, int64_t judged, const Thresholds& thresholds) {
  if (pool.mean_square == 0) return {0, 0};
  const double nu = degrees_of_freedom(pool);
  const double nu2 = std::max(1.0, nu * static_cast<double>(pool.samples));
  const double alpha =
      thresholds["family_rate"] / static_cast<double>(std::max<int64_t>(1, judged));
  const double scale = thresholds["envelope_model_factor"] * std::sqrt(pool.mean_square);
  return {scale * std::sqrt(quantile_of_f(thresholds["envelope_lo_probability"], nu, nu2)),
          scale * std::sqrt(quantile_of_f(1 - alpha, nu, nu2))};
}

std::optional<Bounds> Envelope::bounds(const trace::What& what, Metric metric, int64_t judged,
                                       const Thresholds& thresholds) const {
  const auto found = pools.find({what.site, what.phase, what.role, what.step, metric});
  if (found == pools.end()) return std::nullopt;
  Pool pool = found->second;
  if (metric == Metric::kSign) pool.mean_square = std::max(pool.mean_square, kIndependentSigns);
  return bounds_of(pool, judged, thresholds);
}

Envelope build_envelope(const trace::TraceReader& base,
                        const std::vector<const trace::TraceReader*>& perturbed,
                        const std::string& key) {
  Pools pools;
  for (const int64_t number : base.steps()) {
    const trace::Step step = base.read_step(number);
    const auto logical = assemble(step, base.facts());
    const Base step_of_base{base, step, logical};
    for (const auto* run : perturbed) add_step(pools, step_of_base, *run);
  }
  Envelope envelope;
  envelope.key = key;
  std::map<PoolKey, KindVariance> kinds;
  for (const auto& [place, moments] : pools) {
    if (moments.mean == 0) continue;
    auto& kind = kinds[kind_of(place)];
    kind.sum += moments.m2 / (moments.mean * moments.mean);
    kind.freedom += moments.n - 1;
  }
  for (const auto& [place, moments] : pools) {
    const auto& kind = kinds[kind_of(place)];
    const double variance = kind.freedom > 0 ? kind.sum / static_cast<double>(kind.freedom) : 0;
    envelope.pools[place] = {moments.n, moments.mean, variance, kind.freedom, moments.largest};
  }
  return envelope;
}

}  // namespace nanhunt::oracle
