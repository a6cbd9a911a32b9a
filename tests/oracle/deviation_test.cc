// SPDX-License-Identifier: Apache-2.0
// Deviations by values against sums in plain order, for rows of any length.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "oracle/envelope.h"
#include "tests/compare/trace_builder.h"
#include "tests/support/scratch_folder.h"

namespace nanhunt::oracle {
namespace {

using compare::test::Values;

constexpr int64_t kRows = 5;

class DeviationByValues : public testing::TestWithParam<int64_t> {
 protected:
  int64_t columns() const { return GetParam(); }
  size_t elements() const { return static_cast<size_t>(kRows * columns()); }
  Values reference() const { return compare::test::normal_values(elements(), 1); }

  Deviation deviation_of(const Values& candidate, const Values& trusted) {
    const ScratchFolder a, b;
    write(a.path(), candidate);
    write(b.path(), trusted);
    const trace::TraceReader mine(a.path()), other(b.path());
    const trace::Step step = mine.read_step(0), other_step = other.read_step(0);
    return deviation(step, assemble(step, mine.facts()).front(), &mine, other_step,
                     assemble(other_step, other.facts()).front(), &other);
  }

 private:
  void write(const std::filesystem::path& folder, const Values& values) const {
    compare::test::TraceBuilder builder;
    builder.add({.site = "a"}, values, compare::test::copies({kRows, columns()}));
    builder.write(folder);
  }
};

TEST_P(DeviationByValues, IsThatOfPlainSums) {
  const Values trusted = reference();
  Values candidate = trusted;
  for (size_t i = 0; i < elements(); ++i) candidate[i] += 1e-3f * static_cast<float>(i % 3);
  candidate.back() -= 0.5f;  // in no full group of lanes, where the row has one
  double difference = 0, norm = 0, row = 0;
  for (size_t i = 0; i < elements(); ++i) {
    const double b = trusted[i], d = static_cast<double>(candidate[i]) - b;
    difference += d * d;
    norm += b * b;
    if (i >= elements() - static_cast<size_t>(columns())) row += d * d;
  }
  const Deviation found = deviation_of(candidate, trusted);
  EXPECT_FALSE(found.equal);
  EXPECT_NEAR(found.norm, std::sqrt(difference / norm), 1e-12);
  EXPECT_NEAR(found.row, std::sqrt(row / (norm / kRows)), 1e-12);
  EXPECT_EQ(found.worst_row, kRows - 1);
  EXPECT_EQ(found.worst_element, static_cast<int64_t>(elements()) - 1);
}

TEST_P(DeviationByValues, TheFirstOfEqualDifferencesIsTheWorst) {
  Values candidate(elements(), 1.0f), trusted = candidate;
  candidate[1] = candidate[elements() - 1] = 1.5f;
  EXPECT_EQ(deviation_of(candidate, trusted).worst_element, 1);
}

TEST_P(DeviationByValues, AColumnIsHeldAgainstTheAverageColumn) {
  const Values trusted = reference();
  Values candidate = trusted;
  const auto width = static_cast<size_t>(columns());
  double squares = 0, norm = 0;
  for (size_t i = 0; i < elements(); ++i) {
    if (i % width == width / 2) candidate[i] += 0.25f;
    if (i % width == width / 2)
      squares += std::pow(static_cast<double>(candidate[i]) - trusted[i], 2);
    norm += double{trusted[i]} * trusted[i];
  }
  const Deviation found = deviation_of(candidate, trusted);
  if (width == 1) {  // the whole tensor
    EXPECT_EQ(found.column, -1);
    return;
  }
  EXPECT_EQ(found.worst_column, static_cast<int64_t>(width / 2));
  EXPECT_NEAR(found.column, std::sqrt(squares / (norm / static_cast<double>(width))), 1e-12);
}

// Both have it, so it is no difference; and it hides none.
TEST_P(DeviationByValues, WhatIsNotFiniteCountsForNothing) {
  Values candidate = reference();
  candidate[0] = std::numeric_limits<float>::infinity();
  candidate[2] = std::numeric_limits<float>::quiet_NaN();
  const Values trusted = candidate;
  EXPECT_TRUE(deviation_of(candidate, trusted).equal);
  candidate[3] += 0.25f;
  const Deviation found = deviation_of(candidate, trusted);
  EXPECT_TRUE(found.comparable);
  EXPECT_EQ(found.worst_element, 3);
  EXPECT_TRUE(std::isfinite(found.norm));
  EXPECT_GT(found.norm, 0);
}

INSTANTIATE_TEST_SUITE_P(RowLengths, DeviationByValues, testing::Values(1, 7, 8, 21, 64));

}  // namespace
}  // namespace nanhunt::oracle
