// SPDX-License-Identifier: Apache-2.0
#include "oracle/growth.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "oracle/envelope.h"
#include "tests/compare/trace_builder.h"
#include "tests/support/scratch_folder.h"

namespace nanhunt::oracle {
namespace {

using compare::test::copies;
using compare::test::normal_values;
using compare::test::TraceBuilder;
using testing::IsEmpty;

TEST(LinkedInputs, AreTheTensorsThatRecordsLinkToButParameters) {
  TraceBuilder builder;
  const auto x = builder.add({.site = "x"}, {1, 2}, copies({2}));
  const auto w = builder.add({.site = "w", .role = "param"}, {1, 2}, copies({2}));
  const auto z = builder.add({.site = "z"}, {1, 2}, copies({2}));
  builder.add({.site = "sum", .links = {z, x, w, x}}, {1, 2}, copies({2}));
  builder.add({.site = "sum", .phase = trace::Phase::kUpdate, .links = {x}}, {1, 2}, copies({2}));
  builder.add({.site = "torn", .links = {x, 99}}, {1, 2}, copies({2}));
  const trace::Step step = builder.step(0);
  const auto logicals = assemble(step, builder.facts());
  const auto inputs = linked_inputs(step, logicals);
  for (size_t l = 0; l < logicals.size(); ++l) {
    const auto& what = logicals[l].what;
    if (what.site != "sum" || what.phase != trace::Phase::kForward) {
      EXPECT_THAT(inputs[l], IsEmpty()) << describe(what);
      continue;
    }
    ASSERT_EQ(inputs[l].size(), 2u);
    EXPECT_EQ(logicals[static_cast<size_t>(inputs[l][0])].what.site, "x");
    EXPECT_EQ(logicals[static_cast<size_t>(inputs[l][1])].what.site, "z");
  }
}

TEST(ErrorIn, IsTheRootOfTheSumOfSquaresOrNotKnown) {
  EXPECT_EQ(error_in({0, 2}, {3, -1, 4}), 5);
  EXPECT_EQ(error_in({0, 1}, {3, -1, 4}), std::nullopt);
  EXPECT_EQ(error_in({}, {3}), std::nullopt);
  EXPECT_EQ(error_in({0}, {std::numeric_limits<double>::infinity()}), std::nullopt);
}

TEST(GrowthOfErrors, CountsNoInputForLessThanIsHealthy) {
  EXPECT_EQ(growth(6, 2, 1), 3);
  EXPECT_EQ(growth(6, 0.5, 2), 3);
}

// Errors of two linked tensors by run.
Envelope envelope_of(const std::vector<std::pair<double, double>>& runs) {
  const ScratchFolder folder;
  const auto write = [&](size_t number, double before, double after) {
    TraceBuilder builder;
    const auto in = builder.add(
        {.site = "in"}, compare::test::times(normal_values(64, 1), 1 + before), copies({64}));
    builder.add({.site = "out", .links = {in}},
                compare::test::times(normal_values(64, 2), 1 + after), copies({64}));
    const auto path = folder.path() / std::to_string(number);
    builder.write(path);
    return trace::TraceReader(path);
  };
  const auto base = write(0, 0, 0);
  std::vector<trace::TraceReader> readers;
  for (const auto& [before, after] : runs)
    readers.push_back(write(readers.size() + 1, before, after));
  std::vector<const trace::TraceReader*> pointers;
  for (const auto& reader : readers) pointers.push_back(&reader);
  return build_envelope(base, pointers, "k");
}

TEST(GrowthOfErrors, IsPooledByRun) {
  const Envelope envelope = envelope_of({{0.25, 0.5}, {0.5, 1}});
  const trace::What out{0, "out", trace::Phase::kForward, "output", 0};
  EXPECT_NEAR(envelope.healthy(out, Metric::kGrowth).value(), 2, 1e-6);
  EXPECT_NEAR(envelope.healthy(out, Metric::kInputs).value(), std::sqrt((0.0625 + 0.25) / 2), 1e-6);
  EXPECT_FALSE(envelope.healthy({0, "in", trace::Phase::kForward, "output", 0}, Metric::kGrowth));
}

TEST(GrowthOfErrors, OfAnInputThatARunDidNotReachIsNotKnown) {
  const Envelope envelope = envelope_of({{0.25, 0.5}, {0, 1}});
  EXPECT_FALSE(envelope.healthy({0, "out", trace::Phase::kForward, "output", 0}, Metric::kGrowth));
}

}  // namespace
}  // namespace nanhunt::oracle
