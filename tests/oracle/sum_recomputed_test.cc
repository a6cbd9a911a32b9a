// SPDX-License-Identifier: Apache-2.0
// Sums over ranks, element by element: what rounding explains passes, small faults do not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "oracle/rules/rules.h"
#include "tests/compare/trace_builder.h"

namespace nanhunt::oracle::test {
namespace {

using compare::test::copies;
using compare::test::normal_values;
using compare::test::partial;
using compare::test::slice;
using compare::test::TemporaryFolder;
using compare::test::TraceBuilder;
using compare::test::Values;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using trace::DType;
using trace::Phase;

constexpr int kRanks = 4;
constexpr int64_t kRows = 256, kWidth = 32;
constexpr size_t kCount = kRows * kWidth;

float half(float value) {
  return static_cast<float>(static_cast<_Float16>(value));
}

struct Sum {
  DType type = DType::kFloat16;
  bool accumulate_in_type = false;
  bool scatter = false;
  std::function<void(int rank, Values& result)> fault = [](int, Values&) {};
  bool values = true;
};

// The terms as each rank gave them, and their sum as the collective rounded it.
std::vector<Values> terms_of(const Sum& sum) {
  std::vector<Values> terms;
  for (int rank = 0; rank < kRanks; ++rank) {
    terms.push_back(normal_values(kCount, static_cast<uint64_t>(rank) + 1));
    if (sum.type != DType::kFloat16) continue;
    for (float& value : terms.back()) value = half(value);
  }
  return terms;
}

Values total_of(const Sum& sum, const std::vector<Values>& terms) {
  Values total(kCount, 0.0f);
  for (const Values& term : terms) {
    for (size_t i = 0; i < kCount; ++i) {
      total[i] += term[i];
      if (sum.accumulate_in_type) total[i] = half(total[i]);
    }
  }
  return total;
}

std::vector<Finding> findings(const Sum& sum) {
  TraceBuilder builder(kRanks);
  const std::vector<int64_t> shape{kRows, kWidth};
  const auto terms = terms_of(sum);
  const Values total = total_of(sum, terms);
  std::vector<int> group;
  std::vector<int64_t> operands, results;
  for (int rank = 0; rank < kRanks; ++rank) {
    group.push_back(rank);
    operands.push_back(builder.add(
        {.rank = rank, .site = "fc", .phase = Phase::kPreCollective, .storage = sum.type},
        terms[static_cast<size_t>(rank)], partial(shape)));
  }
  for (int rank = 0; rank < kRanks; ++rank) {
    Values result = total;
    if (sum.scatter) {
      const auto begin = total.begin() + static_cast<std::ptrdiff_t>(kCount) / kRanks * rank;
      result.assign(begin, begin + static_cast<std::ptrdiff_t>(kCount) / kRanks);
    }
    sum.fault(rank, result);
    results.push_back(builder.add(
        {.rank = rank, .site = "fc", .phase = Phase::kPostCollective, .storage = sum.type}, result,
        sum.scatter ? slice(shape, 0, rank, kRanks) : copies(shape)));
  }
  builder.collective(sum.scatter ? "reduce_scatter" : "all_reduce", group, operands, results);
  const TemporaryFolder folder;
  builder.write(folder.path(), sum.values);
  const trace::TraceReader reader(folder.path());
  const trace::Step step = reader.read_step(0);
  const auto& facts = reader.facts();
  return sum_recomputed().check({step, nullptr, &reader, facts, compare::test::thresholds()});
}

// One row of rank 2's result times a factor.
void scale_row(int rank, Values& result, double factor) {
  if (rank != 2) return;
  for (size_t c = 0; c < kWidth; ++c)
    result[5 * kWidth + c] = static_cast<float>(result[5 * kWidth + c] * factor);
}

TEST(SumRecomputed, HealthySumsPass) {
  EXPECT_THAT(findings({}), IsEmpty());
  EXPECT_THAT(findings({.type = DType::kFloat32}), IsEmpty());
  EXPECT_THAT(findings({.scatter = true}), IsEmpty());
}

TEST(SumRecomputed, OneRowAPercentOffIsFoundOnItsRank) {
  for (const bool scatter : {false, true}) {
    const auto found = findings(
        {.scatter = scatter, .fault = [](int rank, Values& r) { scale_row(rank, r, 1.01); }});
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_THAT(found.front().ranks, ElementsAre(2));
    EXPECT_EQ(found.front().decider, Decider::kRecomputation);
  }
}

TEST(SumRecomputed, AnElementFarBelowItsNeighboursIsFound) {
  EXPECT_THAT(findings({.fault = [](int, Values& r) { r[77] += 0.02f; }}), SizeIs(kRanks));
}

TEST(SumRecomputed, SumsKeptInTheNarrowTypeAreFound) {
  EXPECT_THAT(findings({.accumulate_in_type = true}), SizeIs(kRanks));
}

TEST(SumRecomputed, ASliceOfAnotherRankIsFound) {
  const auto found =
      findings({.scatter = true, .fault = [](int rank, Values& r) {
                  if (rank == 1)
                    std::swap_ranges(r.begin(), r.begin() + kWidth, r.begin() + kWidth);
                }});
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found.front().severity, Severity::kProven);
}

TEST(SumRecomputed, WithoutValuesNothingIsSaid) {
  EXPECT_THAT(
      findings({.fault = [](int rank, Values& r) { scale_row(rank, r, 1.5); }, .values = false}),
      IsEmpty());
}

}  // namespace
}  // namespace nanhunt::oracle::test
