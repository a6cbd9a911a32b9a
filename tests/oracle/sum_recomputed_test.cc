// SPDX-License-Identifier: Apache-2.0
// Sums over ranks, element by element: what rounding explains passes, small faults do not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "oracle/rules/rules.h"
#include "tests/compare/trace_builder.h"
#include "tests/support/scratch_folder.h"

namespace nanhunt::oracle::test {
namespace {

using compare::test::copies;
using compare::test::normal_values;
using compare::test::partial;
using compare::test::slice;
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

// How a reduce-scatter cuts what the ranks add up.
struct Cut {
  std::vector<int64_t> shape;  // kCount elements
  std::function<trace::Placement(int rank)> result;
  std::function<size_t(size_t rank, size_t i)> source;  // in the total, of a result's element
};

constexpr size_t kPart = kCount / kRanks;

const Cut kByRows{{kRows, kWidth},
                  [](int rank) {
                    return slice({kRows, kWidth}, 0, rank, kRanks);
                  },
                  [](size_t rank, size_t i) { return rank * kPart + i; }};
// [sample, token, channel] by tokens, as sequence parallelism.
const Cut kByTokens{{8, 32, 32},
                    [](int rank) {
                      return slice({8, 32, 32}, 1, rank, kRanks);
                    },
                    [](size_t rank, size_t i) { return i / 256 * 1024 + rank * 256 + i % 256; }};
const Cut kByColumns{{kRows, kWidth},
                     [](int rank) {
                       return slice({kRows, kWidth}, 1, rank, kRanks);
                     },
                     [](size_t rank, size_t i) { return i / 8 * kWidth + rank * 8 + i % 8; }};
// Ranges of the flattened gradient.
const Cut kFlat{{kRows, kWidth},
                [](int rank) {
                  trace::Placement range = slice({kRows, kWidth}, 0, rank, kRanks);
                  range.flat = true;
                  range.to_logical = {0};
                  const auto part = static_cast<int64_t>(kPart);
                  range.regions = {{{0}, {rank * part}, {part}}};
                  return range;
                },
                kByRows.source};

const Cut* const kCuts[] = {&kByRows, &kByTokens, &kByColumns, &kFlat};

struct Sum {
  DType type = DType::kFloat16;
  bool accumulate_in_type = false;
  const Cut* scatter = nullptr;
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
  const std::vector<int64_t> shape =
      sum.scatter == nullptr ? std::vector<int64_t>{kRows, kWidth} : sum.scatter->shape;
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
    if (sum.scatter != nullptr) {
      result.resize(kPart);
      for (size_t i = 0; i < kPart; ++i)
        result[i] = total[sum.scatter->source(static_cast<size_t>(rank), i)];
    }
    sum.fault(rank, result);
    results.push_back(builder.add(
        {.rank = rank, .site = "fc", .phase = Phase::kPostCollective, .storage = sum.type}, result,
        sum.scatter == nullptr ? copies(shape) : sum.scatter->result(rank)));
  }
  builder.collective(sum.scatter == nullptr ? "all_reduce" : "reduce_scatter", group, operands,
                     results);
  const ScratchFolder folder;
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
  for (const Cut* cut : kCuts) EXPECT_THAT(findings({.scatter = cut}), IsEmpty());
}

TEST(SumRecomputed, OneRowAPercentOffIsFoundOnItsRank) {
  for (const Cut* cut :
       {static_cast<const Cut*>(nullptr), kCuts[0], kCuts[1], kCuts[2], kCuts[3]}) {
    const auto found =
        findings({.scatter = cut, .fault = [](int rank, Values& r) { scale_row(rank, r, 1.01); }});
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

// Two pieces that changed places, as small as a row.
TEST(SumRecomputed, APieceOfAnotherPlaceIsFound) {
  for (const Cut* cut : kCuts) {
    const auto found =
        findings({.scatter = cut, .fault = [](int rank, Values& r) {
                    if (rank == 1)
                      std::swap_ranges(r.begin(), r.begin() + kWidth, r.begin() + kWidth);
                  }});
    ASSERT_THAT(found, SizeIs(1));
    EXPECT_THAT(found.front().ranks, ElementsAre(1));
    EXPECT_EQ(found.front().severity, Severity::kProven);
  }
}

// The whole part of another rank: cut by rows where tokens or columns were meant.
TEST(SumRecomputed, ACutAlongAnotherDimensionIsFound) {
  for (const Cut* cut : {&kByTokens, &kByColumns}) {
    Cut wrong = *cut;
    wrong.source = kByRows.source;
    EXPECT_THAT(findings({.scatter = &wrong}), SizeIs(kRanks));
  }
}

TEST(SumRecomputed, WithoutValuesNothingIsSaid) {
  EXPECT_THAT(
      findings({.fault = [](int rank, Values& r) { scale_row(rank, r, 1.5); }, .values = false}),
      IsEmpty());
}

}  // namespace
}  // namespace nanhunt::oracle::test
