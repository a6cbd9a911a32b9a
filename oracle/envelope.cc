// SPDX-License-Identifier: Apache-2.0
#include "oracle/envelope.h"

#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/fisher_f.hpp>
#include <cmath>
#include <iterator>

#include "oracle/growth.h"

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

constexpr std::string_view kMetricNames[] = {"norm",     "row",  "element", "column",
                                             "operands", "sign", "growth",  "inputs"};
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

// Adds a run's deviations; returns their norms by logical tensor of the base, -1 where there is
// none.
std::vector<double> add_step(Pools& pools, const Base& base, const trace::TraceReader& perturbed) {
  const trace::Step step = perturbed.read_step(base.step.step);
  std::map<trace::What, size_t> reference;
  for (size_t l = 0; l < base.logicals.size(); ++l) reference[base.logicals[l].what] = l;
  std::vector<double> norms(base.logicals.size(), -1);
  for (const auto& logical : assemble(step, perturbed.facts())) {
    const auto found = reference.find(logical.what);
    if (found == reference.end()) continue;
    const auto d =
        deviation(step, logical, &perturbed, base.step, base.logicals[found->second], &base.reader);
    if (!d.comparable) continue;
    if (d.reference == 0) {
      add_metric(pools, logical.what, Metric::kOperands, d.difference);
      continue;
    }
    norms[found->second] = d.norm;
    for (const Metric metric :
         {Metric::kNorm, Metric::kRow, Metric::kColumn, Metric::kElement, Metric::kSign})
      add_metric(pools, logical.what, metric, value_of(d, metric));
  }
  return norms;
}

// `runs`: what add_step returned of each. Pools hold the growth itself, errors of inputs below
// their healthy ones included: what is judged later is less (growth.h), so their tail is long
// enough.
void add_growth(Pools& pools, const Base& base, const std::vector<std::vector<double>>& runs) {
  const auto inputs = linked_inputs(base.step, base.logicals);
  for (size_t l = 0; l < inputs.size(); ++l) {
    std::vector<std::pair<double, double>> errors;  // in, out
    for (const auto& norms : runs) {
      const auto in = error_in(inputs[l], norms);
      if (in && norms[l] >= 0) errors.emplace_back(*in, norms[l]);
    }
    // An input that no noise reached in some run says nothing about what an error there becomes.
    if (std::ranges::any_of(errors, [](const auto& one) { return one.first == 0; })) continue;
    const trace::What& what = base.logicals[l].what;
    for (const auto& [in, out] : errors) {
      add_metric(pools, what, Metric::kInputs, in);
      add_metric(pools, what, Metric::kGrowth, growth(out, in, 0));
    }
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

std::optional<double> Envelope::healthy(const trace::What& what, Metric metric) const {
  const auto found = pools.find({what.site, what.phase, what.role, what.step, metric});
  if (found == pools.end()) return std::nullopt;
  return std::sqrt(found->second.mean_square);
}

Envelope build_envelope(const trace::TraceReader& base,
                        const std::vector<const trace::TraceReader*>& perturbed,
                        const std::string& key) {
  Pools pools;
  for (const int64_t number : base.steps()) {
    const trace::Step step = base.read_step(number);
    const auto logical = assemble(step, base.facts());
    const Base step_of_base{base, step, logical};
    std::vector<std::vector<double>> norms;
    for (const auto* run : perturbed) norms.push_back(add_step(pools, step_of_base, *run));
    add_growth(pools, step_of_base, norms);
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
