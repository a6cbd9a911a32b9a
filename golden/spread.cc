// SPDX-License-Identifier: Apache-2.0
#include "golden/spread.h"

#include <cmath>
#include <numeric>

#include "trace/check.h"

namespace nanhunt::golden {
namespace {

// One number as a vector, so that there is one formula.
using Vectors = std::vector<std::vector<double>>;

std::vector<double> squares_of(const Vectors& runs) {
  std::vector<double> squares;
  if (runs.empty()) return squares;
  std::vector<double> sum(runs.front().size(), 0);
  for (size_t j = 1; j < runs.size(); ++j) {
    const double n = static_cast<double>(j);
    double square = 0;
    for (size_t i = 0; i < sum.size(); ++i) {
      sum[i] += runs[j - 1][i];
      const double contrast = sum[i] - n * runs[j][i];
      square += contrast * contrast;
    }
    squares.push_back(square / (n * (n + 1)));
  }
  return squares;
}

}  // namespace

std::vector<double> contrast_squares(const std::vector<trace::Sketch>& runs) {
  Vectors vectors;
  // From the first run: what they have in common must not cost the digits of what they have not.
  for (const auto& run : runs) {
    const auto shifted = trace::subtract(run, runs.front());
    vectors.emplace_back(shifted.begin(), shifted.end());
  }
  return squares_of(vectors);
}

std::vector<double> contrast_squares(const std::vector<double>& runs) {
  Vectors vectors;
  for (const double run : runs) vectors.push_back({run - runs.front()});
  return squares_of(vectors);
}

Spread spread_of(const std::vector<double>& squares) {
  return {static_cast<int64_t>(squares.size()), squares.empty() ? 0 : mean_of(squares)};
}

void ShapeSum::add(const std::vector<double>& squares) {
  const double mean = squares.empty() ? 0 : mean_of(squares);
  if (squares.size() < 2 || !(mean > 0)) return;
  for (const double square : squares) sum_ += std::pow(square / mean - 1, 2);
  freedom_ += static_cast<int64_t>(squares.size()) - 1;
  contrasts_ = static_cast<int64_t>(squares.size());
}

Shape ShapeSum::shape() const {
  if (freedom_ == 0) return {};
  const double seen = sum_ / static_cast<double>(freedom_);
  if (seen <= 0) return {};
  const double inverse = 1 / seen - 1 / static_cast<double>(contrasts_);
  return {inverse > 0.5 ? 1 / inverse : 2, freedom_};  // nu is at least 1
}

double bound(const Spread& spread, const Shape& shape, int64_t judged,
             const oracle::Thresholds& thresholds) {
  NANHUNT_CHECK(spread.contrasts > 0);
  oracle::Pool pool;
  pool.samples = spread.contrasts;
  pool.mean_square = spread.mean_square;
  pool.relative_variance = shape.relative_variance;
  pool.kind_freedom = shape.freedom;
  const double runs = static_cast<double>(spread.contrasts + 1);
  return oracle::bounds_of(pool, judged, thresholds).hi * std::sqrt((runs + 1) / runs);
}

trace::Sketch mean_of(const std::vector<trace::Sketch>& runs) {
  trace::Sketch mean{};
  for (const auto& run : runs) {
    const auto shifted = trace::subtract(run, runs.front());
    for (size_t i = 0; i < mean.size(); ++i) mean[i] += shifted[i];
  }
  for (size_t i = 0; i < mean.size(); ++i) {
    mean[i] = runs.front()[i] + mean[i] / static_cast<double>(runs.size());
  }
  return mean;
}

double mean_of(const std::vector<double>& runs) {
  double sum = 0;
  for (const double run : runs) sum += run - runs.front();
  return runs.front() + sum / static_cast<double>(runs.size());
}

double distance(const trace::Sketch& a, const trace::Sketch& b) {
  return trace::sketch_norm(trace::subtract(a, b));
}

}  // namespace nanhunt::golden
