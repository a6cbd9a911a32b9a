// SPDX-License-Identifier: Apache-2.0
// How often `nanhunt golden check` calls a healthy run different by noise, and how often it sees a
// tensor that is scaled by 1.01 (docs/golden.md).
//
//   golden_noise [CHECKS]     simulated checks per row, default 2000
//
// Each check: N exporting runs and a further one of 240 tensors, 12 of each of 20 kinds, as
// sketches whose noise has 1, 8 or 64 independent components. Noise of three kinds, all of the same
// size: normal; of two outcomes, each in half of the runs (one race); of two outcomes of which one
// comes in a tenth of the runs. The family rate is that of share/nanhunt/thresholds.json. Ends with
// status 1 where normal noise is called different more often than that and chance allow.
#include <boost/math/distributions/binomial.hpp>
#include <boost/random/bernoulli_distribution.hpp>
#include <boost/random/mersenne_twister.hpp>
#include <boost/random/normal_distribution.hpp>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "golden/spread.h"

namespace nanhunt::golden {
namespace {

using Random = boost::random::mt19937_64;

constexpr int kKinds = 20, kSites = 12, kDefaultChecks = 2000;
constexpr double kOutside = 0.001;  // of one row's check

enum class Noise { kNormal, kEven, kRare };
const char* name_of(Noise noise) {
  return noise == Noise::kNormal ? "normal" : noise == Noise::kEven ? "one of two" : "one in ten";
}

struct Row {
  int runs;
  int components;
  Noise noise;
  double size;  // of the noise, relative to the tensor
};

// One tensor of one kind: its value, and the direction that a race moves it by.
class Tensor {
 public:
  Tensor(const Row& row, Random& random) : row_(row) {
    for (double& each : value_) each = normal_(random);
    for (double& each : shift_) each = normal_(random);
  }
  trace::Sketch run(Random& random, double factor = 1) {
    trace::Sketch sketch = value_;
    const double p = row_.noise == Noise::kEven ? 0.5 : 0.1;
    const bool other = boost::random::bernoulli_distribution<>(p)(random);
    const double share = std::sqrt(64.0 / row_.components);
    for (size_t i = 0; i < sketch.size(); ++i) {
      if (row_.noise != Noise::kNormal) {
        sketch[i] += other ? row_.size * shift_[i] / std::sqrt(p * (1 - p)) : 0;
      } else if (static_cast<int>(i) < row_.components) {
        sketch[i] += row_.size * share * normal_(random);
      }
      sketch[i] *= factor;
    }
    return sketch;
  }

 private:
  Row row_;
  trace::Sketch value_, shift_;
  boost::random::normal_distribution<double> normal_;
};

struct Outcome {
  bool alarm = false;  // a healthy tensor beyond its bound
  bool seen = false;   // the scaled one
};

Outcome check(const Row& row, const oracle::Thresholds& thresholds, Random& random) {
  Outcome outcome;
  for (int kind = 0; kind < kKinds; ++kind) {
    std::vector<Tensor> tensors;
    std::vector<std::vector<trace::Sketch>> runs;
    ShapeSum sum;
    for (int site = 0; site < kSites; ++site) {
      tensors.emplace_back(row, random);
      auto& mine = runs.emplace_back();
      for (int run = 0; run < row.runs; ++run) mine.push_back(tensors.back().run(random));
      sum.add(contrast_squares(mine));
    }
    for (size_t site = 0; site < runs.size(); ++site) {
      const Spread spread = spread_of(contrast_squares(runs[site]));
      if (spread.mean_square == 0) continue;  // all alike: class bit
      const double high = bound(spread, sum.shape(), 2 * kKinds * kSites, thresholds);
      const auto mean = mean_of(runs[site]);
      outcome.alarm = outcome.alarm || distance(tensors[site].run(random), mean) > high;
      if (kind == 0 && site == 0)
        outcome.seen = distance(tensors[site].run(random, 1.01), mean) > high;
    }
  }
  return outcome;
}

bool print_row(const Row& row, int checks, const oracle::Thresholds& thresholds) {
  Random random(17);
  int alarms = 0, seen = 0;
  for (int i = 0; i < checks; ++i) {
    const Outcome outcome = check(row, thresholds, random);
    alarms += outcome.alarm;
    seen += outcome.seen;
  }
  using boost::math::binomial_distribution;
  const double high = binomial_distribution<>::find_upper_bound_on_p(checks, alarms, 0.005);
  const double low = binomial_distribution<>::find_lower_bound_on_p(checks, alarms, kOutside);
  std::printf("%4d  %-10s  %10d  %8.0e  %7d of %d (at most %.2g)  %5.3f\n", row.runs,
              name_of(row.noise), row.components, row.size, alarms, checks, high,
              static_cast<double>(seen) / checks);
  std::fflush(stdout);
  return row.noise != Noise::kNormal || low <= thresholds["family_rate"];
}

int run(int checks) {
  const auto thresholds = oracle::Thresholds::installed();
  std::printf("%d tensors a check, family rate %g\n", kKinds * kSites, thresholds["family_rate"]);
  std::printf(
      "runs  noise       components  size      false alarms (99 %%)            x1.01 seen\n");
  bool held = true;
  for (const int runs : {3, 5, 8}) {
    for (const int components : {1, 8, 64}) {
      for (const double size : {1e-3, 1e-5})
        held = print_row({runs, components, Noise::kNormal, size}, checks, thresholds) && held;
    }
    for (const Noise noise : {Noise::kEven, Noise::kRare})
      held = print_row({runs, 1, noise, 1e-5}, checks, thresholds) && held;
  }
  return held ? 0 : 1;
}

}  // namespace
}  // namespace nanhunt::golden

int main(int count, char** arguments) {
  const int checks = count > 1 ? std::atoi(arguments[1]) : 0;
  return nanhunt::golden::run(checks > 0 ? checks : nanhunt::golden::kDefaultChecks);
}
