// SPDX-License-Identifier: Apache-2.0
// What is told about the steps before a non-finite value, and where it ended.
#include "compare/non_finite_path.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/compare/trace_builder.h"

namespace nanhunt::compare::test {
namespace {

using trace::Phase;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// fc's output by step, in FP16; the record of the last one.
std::string growth(const std::vector<float>& sizes) {
  TraceBuilder builder;
  for (size_t step = 0; step < sizes.size(); ++step) {
    if (step > 0) builder.begin_step(static_cast<int64_t>(step));
    builder.add({.site = "other", .storage = trace::DType::kFloat16}, {7}, copies({1}));
    builder.add({.site = "fc", .storage = trace::DType::kFloat16}, {sizes[step], -1}, copies({2}));
  }
  const TraceSource source = builder.source();
  const SideStep side =
      make_side(source, source.read_step(source.steps.back()), oracle::Side::kCandidate);
  return growth_before(side, 1);
}

TEST(GrowthBefore, TellsTheLastFiveSteps) {
  EXPECT_EQ(growth({2, 10, 100, 1000, 10000, 60000, kInf}),
            "largest finite value 100, 1e+03, 1e+04, 6e+04, 1 in steps 2, 3, 4, 5, 6; fp16 ends at "
            "6.55e+04");
}

TEST(GrowthBefore, SaysNothingOfAFirstStep) {
  EXPECT_EQ(growth({kInf}), "");
}

// A NaN in fc, read by a mask that selects and by one that multiplies; a copy that never met it.
std::vector<std::string> vanished(float at_select, float at_product) {
  TraceBuilder builder;
  const auto fc = builder.add({.site = "fc"}, {kNan, 1}, copies({2}));
  const auto other = builder.add({.site = "other"}, {1, 1}, copies({2}));
  builder.add({.site = "beside", .links = {other}}, {1, 1}, copies({2}));
  builder.add({.site = "select", .links = {fc, other}}, {at_select, 1}, copies({2}));
  const auto product =
      builder.add({.site = "product", .links = {fc}}, {at_product, 1}, copies({2}));
  builder.add({.site = "loss", .phase = Phase::kLoss, .links = {product}}, {2}, copies({1}));
  const TraceSource source = builder.source();
  return vanished_after(make_side(source, source.read_step(0), oracle::Side::kCandidate),
                        static_cast<int>(fc));
}

TEST(VanishedAfter, NamesTheFirstFiniteConsumers) {
  EXPECT_EQ(vanished(0, kNan),
            (std::vector<std::string>{"select forward output", "loss loss output"}));
  EXPECT_EQ(vanished(kNan, 0), (std::vector<std::string>{"product forward output"}));
}

TEST(VanishedAfter, CrossesCollectives) {
  TraceBuilder builder(2);
  std::vector<int64_t> operands, results;
  for (const int rank : {0, 1}) {
    operands.push_back(builder.add({.rank = rank, .site = "fc", .phase = Phase::kPreCollective},
                                   {rank == 0 ? 1.0f : kNan}, partial({1})));
  }
  for (const int rank : {0, 1}) {
    results.push_back(builder.add({.rank = rank, .site = "fc", .phase = Phase::kPostCollective},
                                  {kNan}, copies({1})));
    builder.add({.rank = rank, .site = "clamp", .links = {results.back()}}, {1}, copies({1}));
  }
  builder.collective("all_reduce", {0, 1}, operands, results);
  const TraceSource source = builder.source();
  const SideStep side = make_side(source, source.read_step(0), oracle::Side::kCandidate);
  EXPECT_EQ(vanished_after(side, side.find({1, operands[1]})),
            (std::vector<std::string>{"clamp forward output"}));
}

}  // namespace
}  // namespace nanhunt::compare::test
