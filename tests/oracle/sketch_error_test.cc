// SPDX-License-Identifier: Apache-2.0
// Distances of logical tensors estimated from sketches, put together from shards and from partial
// sums, against the true ones: within what chi-square with 64 degrees of freedom allows. The same
// for traces of a training step: bench/sketch_error.cc.
#include <gtest/gtest.h>

#include <boost/math/distributions/chi_squared.hpp>
#include <cmath>
#include <functional>

#include "oracle/logical.h"
#include "tests/oracle/step_builder.h"

namespace nanhunt::oracle {
namespace {

using test::normal_values;
using test::StepBuilder;
using trace::MeshAxis;
using trace::PlacementKind;
using Values = std::vector<float>;

constexpr int kRanks = 4;
constexpr int kDraws = 200;
constexpr int64_t kRows = 32, kColumns = 48;
const std::vector<int64_t> kShape{kRows, kColumns};
const trace::Placement kWhole = trace::whole({}, kShape);

// What each rank records of the tensor; nothing for a rank that is left out.
using Cut = std::function<void(StepBuilder&, int rank, const Values& whole)>;

void by_columns(StepBuilder& run, int rank, const Values& whole) {
  Values part;
  for (int64_t row = 0; row < kRows; ++row) {
    const auto begin = whole.begin() + row * kColumns + rank * kColumns / kRanks;
    part.insert(part.end(), begin, begin + kColumns / kRanks);
  }
  run.add(rank, trace::Phase::kForward, "a", "output", part, test::slice(kShape, 1, rank, kRanks));
}

void by_rows(StepBuilder& run, int rank, const Values& whole) {
  const auto begin = whole.begin() + rank * kRows / kRanks * kColumns;
  run.add(rank, trace::Phase::kForward, "a", "output",
          Values(begin, begin + kRows / kRanks * kColumns), test::slice(kShape, 0, rank, kRanks));
}

// Multiples of 2^-12 below 64: all sums are exact in FP32.
float exact_in_sums(float value) {
  return std::nearbyint(value * 4096) / 4096;
}

void as_partial_sums(StepBuilder& run, int rank, const Values& whole) {
  Values part(whole.size());
  for (size_t i = 0; i < whole.size(); ++i) {
    float others = 0;
    for (int other = 1; other < kRanks; ++other) {
      const float term = static_cast<float>((i * 37 + static_cast<size_t>(other) * 11) % 19) - 9;
      if (other == rank) part[i] = term;
      others += term;
    }
    if (rank == 0) part[i] = whole[i] - others;
  }
  run.add(rank, trace::Phase::kForward, "a", "output", part,
          test::with(kWhole, MeshAxis::kTp, PlacementKind::kPartial));
}

Logical logical_of(const Cut& cut, const Values& whole, int ranks = kRanks) {
  StepBuilder run(test::mesh_facts(kRanks, 1));
  for (int rank = 0; rank < ranks; ++rank) cut(run, rank, whole);
  const trace::Step step = run.step();
  return assemble(step, run.facts()).front();
}

trace::Sketch sketch_of(const Values& whole) {
  StepBuilder run(test::mesh_facts(1, 1));
  run.add(0, trace::Phase::kForward, "a", "output", whole, kWhole);
  const trace::Step step = run.step();
  return assemble(step, run.facts()).front().print.sketch;
}

struct Pair {
  Values reference, candidate;
  double distance = 0;
};

Pair drawn(int number) {
  const auto seed = static_cast<uint64_t>(number);
  Pair pair{normal_values(kRows * kColumns, 2 * seed + 1), {}};
  const Values noise = normal_values(kRows * kColumns, 2 * seed + 2);
  double squares = 0;
  for (size_t i = 0; i < noise.size(); ++i) {
    pair.reference[i] = exact_in_sums(pair.reference[i]);
    pair.candidate.push_back(exact_in_sums(pair.reference[i] + 0.01F * noise[i]));
    const double difference = static_cast<double>(pair.candidate[i]) - pair.reference[i];
    squares += difference * difference;
  }
  pair.distance = std::sqrt(squares);
  return pair;
}

// Squares of estimated over true distance; `spoil` may change the reference's sketch.
std::vector<double> ratios(const Cut& cut, const std::function<void(trace::Sketch&)>& spoil = {}) {
  std::vector<double> result;
  for (int number = 0; number < kDraws; ++number) {
    const Pair pair = drawn(number);
    const Logical logical = logical_of(cut, pair.candidate);
    EXPECT_TRUE(logical.complete) << logical.why_not;
    trace::Sketch reference = sketch_of(pair.reference);
    if (spoil) spoil(reference);
    const double ratio =
        trace::sketch_norm(trace::subtract(logical.print.sketch, reference)) / pair.distance;
    result.push_back(ratio * ratio);
  }
  return result;
}

// Least, largest and mean of so many draws are outside with a probability of 1e-4 each.
bool as_theory_says(const std::vector<double>& squares) {
  constexpr double kRisk = 1e-4, kSums = trace::kSketchBuckets;
  const boost::math::chi_squared one(kSums), all(kSums * kDraws);
  const double least = quantile(one, kRisk / kDraws) / kSums;
  const double largest = quantile(complement(one, kRisk / kDraws)) / kSums;
  double sum = 0;
  for (const double square : squares) {
    if (square < least || square > largest) return false;
    sum += square;
  }
  return sum > quantile(all, kRisk) / kSums && sum < quantile(complement(all, kRisk)) / kSums;
}

TEST(SketchError, OfShardsCutByColumnsIsWhatTheorySays) {
  EXPECT_TRUE(as_theory_says(ratios(by_columns)));
}

TEST(SketchError, OfShardsCutByRowsIsWhatTheorySays) {
  EXPECT_TRUE(as_theory_says(ratios(by_rows)));
}

TEST(SketchError, OfPartialSumsIsWhatTheorySays) {
  EXPECT_TRUE(as_theory_says(ratios(as_partial_sums)));
}

// The must-fail twins: sketches made with other signs, and a piece left out.
TEST(SketchError, WithOtherSignsIsOutOfTheory) {
  const auto other_signs = [](trace::Sketch& sketch) {
    for (size_t sum = 0; sum < sketch.size(); sum += 8) sketch[sum] = -sketch[sum];
  };
  EXPECT_FALSE(as_theory_says(ratios(by_columns, other_signs)));
  EXPECT_FALSE(as_theory_says(ratios(as_partial_sums, other_signs)));
}

TEST(SketchError, IsNotAskedForWhereAPieceIsLeftOut) {
  const Pair pair = drawn(0);
  const trace::Sketch reference = sketch_of(pair.reference);
  for (const Cut& cut : {Cut(by_columns), Cut(by_rows), Cut(as_partial_sums)}) {
    const Logical logical = logical_of(cut, pair.candidate, kRanks - 1);
    EXPECT_FALSE(logical.complete);
    const double estimate = trace::sketch_norm(trace::subtract(logical.print.sketch, reference));
    EXPECT_GT(estimate, 10 * pair.distance);
  }
}

}  // namespace
}  // namespace nanhunt::oracle
