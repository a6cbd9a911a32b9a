// SPDX-License-Identifier: Apache-2.0
// Values that nothing wrote, in runs with poison and without.
#include "oracle/replay/poison.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "oracle/replay/lineage.h"
#include "tests/compare/trace_builder.h"
#include "tests/support/scratch_folder.h"

namespace nanhunt::oracle::test {
namespace {

using compare::test::copies;
using compare::test::Tap;
using compare::test::TraceBuilder;
using compare::test::Values;

const float kUnwritten = std::bit_cast<float>(0xffffffffu);
const float kComputed = std::numeric_limits<float>::quiet_NaN();

enum class Poison { kOff, kOn };

TraceBuilder run_with(Poison poison, int ranks = 1) {
  TraceBuilder builder(ranks);
  if (poison == Poison::kOn) {
    for (auto& facts : builder.facts()) facts.facts["poison"] = "on";
  }
  return builder;
}

Lineage lineage_in(const TraceBuilder& builder, int64_t sequence) {
  const ScratchFolder folder;
  builder.write(folder.path());
  const trace::TraceReader reader(folder.path());
  const trace::Step step = reader.read_step(0);
  return lineage_of(ReplayIndex(step), &reader,
                    step.records[static_cast<size_t>(step.find(0, sequence))]);
}

// silu of {other, operand}, recorded as {0.7, result}.
Lineage lineage_of_silu(Poison poison, float operand, float result, float other = 1) {
  TraceBuilder builder = run_with(poison);
  const auto before = builder.add({.site = "before"}, {other, operand}, copies({1, 1, 2}));
  const Tap op{.site = "act", .links = {before}, .op = "silu"};
  return lineage_in(builder, builder.add(op, {0.7f, result}, copies({1, 1, 2})));
}

TEST(Poison, ItsBitsInAResultAreMemoryThatNothingWrote) {
  const Lineage told = lineage_of_silu(Poison::kOn, 1, kUnwritten);
  EXPECT_EQ(told.kind, "uninitialised");
  EXPECT_EQ(told.detail.find("sample 0, token 0, channel 1: "), 0u) << told.detail;
}

TEST(Poison, WithoutItTheSameBitsSayNothing) {
  EXPECT_EQ(lineage_of_silu(Poison::kOff, 1, kUnwritten).kind, "not_from_operands");
}

TEST(Poison, ANanThatArithmeticMakesIsNone) {
  EXPECT_EQ(lineage_of_silu(Poison::kOn, 1, kComputed).kind, "not_from_operands");
  EXPECT_EQ(lineage_of_silu(Poison::kOn, 1, -kComputed).kind, "not_from_operands");
}

TEST(Poison, OfAnOperandIsHandedOn) {
  EXPECT_EQ(lineage_of_silu(Poison::kOn, kUnwritten, kUnwritten).kind, "handed_on");
  // Of the operand's other element it is not.
  EXPECT_EQ(lineage_of_silu(Poison::kOn, 1, kUnwritten, kComputed).kind, "uninitialised");
  EXPECT_EQ(lineage_of_silu(Poison::kOn, 1, kComputed, kUnwritten).kind, "not_from_operands");
}

TEST(Poison, WidenedToFp32IsKnown) {
  EXPECT_EQ(lineage_of_silu(Poison::kOn, 1, std::bit_cast<float>(0xffff0000u)).kind,
            "uninitialised");
  EXPECT_EQ(lineage_of_silu(Poison::kOn, 1, std::bit_cast<float>(0xffffe000u)).kind,
            "uninitialised");
}

TEST(Poison, OfAParameterThatNobodySet) {
  for (const Poison poison : {Poison::kOff, Poison::kOn}) {
    TraceBuilder builder = run_with(poison);
    const auto at =
        builder.add({.site = "fc.weight", .role = "param"}, {1, kUnwritten}, copies({1, 2}));
    EXPECT_EQ(lineage_in(builder, at).kind, poison == Poison::kOn ? "uninitialised" : "loaded");
  }
}

// A gather into a buffer that is larger than what comes.
Lineage lineage_of_gather(Poison poison, float operand) {
  TraceBuilder builder = run_with(poison, 2);
  std::vector<int64_t> operands, results;
  for (int rank = 0; rank < 2; ++rank) {
    operands.push_back(
        builder.add({.rank = rank, .site = "gather", .phase = trace::Phase::kPreCollective},
                    {operand}, copies({1})));
  }
  for (int rank = 0; rank < 2; ++rank) {
    results.push_back(builder.add({.rank = rank,
                                   .site = "gather",
                                   .phase = trace::Phase::kPostCollective,
                                   .links = {operands[static_cast<size_t>(rank)]}},
                                  {1, kUnwritten}, copies({2})));
  }
  builder.collective("all_gather", {0, 1}, operands, results);
  return lineage_in(builder, results.front());
}

TEST(Poison, OfABufferThatACollectiveDidNotFill) {
  EXPECT_EQ(lineage_of_gather(Poison::kOn, 1).kind, "uninitialised");
  EXPECT_EQ(lineage_of_gather(Poison::kOff, 1).kind, "not_from_operands");
  EXPECT_EQ(lineage_of_gather(Poison::kOn, kUnwritten).kind, "received");
}

}  // namespace
}  // namespace nanhunt::oracle::test
