// SPDX-License-Identifier: Apache-2.0
#include "repro/trace_curve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "tests/compare/trace_builder.h"
#include "tests/support/scratch_folder.h"
#include "trace/error.h"

namespace nanhunt::repro {
namespace {

using compare::test::Tap;
using compare::test::TraceBuilder;
using testing::ElementsAre;
using testing::HasSubstr;

Tap loss_tap(const std::string& site = "loss", const std::string& role = "loss") {
  return {.site = site, .phase = trace::Phase::kLoss, .role = role};
}

// A data-parallel rank's share of a scalar.
trace::Placement share(double divisor = 1) {
  trace::Placement placement = trace::whole({}, {});
  placement.mesh = {{trace::MeshAxis::kDp, trace::PlacementKind::kPartial}};
  placement.mesh.front().divisor = divisor;
  return placement;
}

Curve curve_of(const TraceBuilder& builder, const std::string& site = "") {
  const ScratchFolder folder;
  builder.write(folder.path() / "trace", false);
  return curve_of_trace(trace::TraceReader(folder.path() / "trace"), site);
}

std::string error_of(const TraceBuilder& builder, trace::ErrorKind kind,
                     const std::string& site = "") {
  try {
    curve_of(builder, site);
  } catch (const trace::Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
  return "";
}

TEST(TraceCurve, TakesTheLossOfEachStep) {
  TraceBuilder builder(1, 1, 3);
  for (const int64_t step : {3, 4, 7}) {
    builder.begin_step(step);
    builder.add({.site = "fc1"}, {1, 2}, compare::test::copies({2}));
    builder.scalar(loss_tap(), 0.5 * static_cast<double>(step));
  }
  const Curve curve = curve_of(builder);
  EXPECT_THAT(curve.steps, ElementsAre(3, 4, 7));
  EXPECT_THAT(curve.losses, ElementsAre(1.5, 2, 3.5));
}

// Two data-parallel ranks, each with its share: the sum, or by the divisor their mean.
TEST(TraceCurve, AddsWhatRanksHold) {
  for (const double divisor : {1.0, 2.0}) {
    TraceBuilder builder(1, 2);
    for (const int rank : {0, 1}) {
      Tap tap = loss_tap();
      tap.rank = rank;
      builder.add(tap, {rank == 0 ? 1.0f : 2.5f}, share(divisor));
    }
    EXPECT_THAT(curve_of(builder).losses, ElementsAre(3.5 / divisor));
  }
}

TEST(TraceCurve, KeepsNanAndInf) {
  TraceBuilder builder;
  builder.scalar(loss_tap(), std::numeric_limits<double>::quiet_NaN());
  builder.begin_step(1);
  builder.scalar(loss_tap(), -std::numeric_limits<double>::infinity());
  const Curve curve = curve_of(builder);
  EXPECT_TRUE(std::isnan(curve.losses[0]));
  EXPECT_EQ(curve.losses[1], -std::numeric_limits<double>::infinity());
}

TEST(TraceCurve, AStepWithoutItsLossIsNamed) {
  TraceBuilder builder;
  builder.scalar(loss_tap(), 1);
  builder.begin_step(1);
  builder.add({.site = "fc1"}, {1, 2}, compare::test::copies({2}));
  EXPECT_THAT(error_of(builder, trace::ErrorKind::kUnreadable),
              HasSubstr("step 1: has no loss loss"));
}

TEST(TraceCurve, AShareThatIsMissingIsNamed) {
  TraceBuilder builder(1, 2);
  builder.add(loss_tap(), {1}, share());
  EXPECT_THAT(error_of(builder, trace::ErrorKind::kUnreadable),
              HasSubstr("step 0: loss loss: 1 of 2 partial sums are there"));
}

TEST(TraceCurve, SeveralLossesMustBeNamed) {
  TraceBuilder builder;
  builder.scalar(loss_tap("loss", "token_loss"), 9);  // of a batch of one token
  builder.scalar(loss_tap("loss"), 1);
  EXPECT_THAT(curve_of(builder).losses, ElementsAre(1));
  builder.scalar(loss_tap("critic"), 2);
  EXPECT_THAT(error_of(builder, trace::ErrorKind::kUsage),
              HasSubstr("several losses, name one by --loss-site SITE: critic loss, loss loss"));
  EXPECT_THAT(curve_of(builder, "critic").losses, ElementsAre(2));
  EXPECT_THAT(error_of(builder, trace::ErrorKind::kUsage, "actor"),
              HasSubstr("no loss of site actor; there are: critic loss"));
}

TEST(TraceCurve, FilesHoldItToTheBit) {
  const double kInf = std::numeric_limits<double>::infinity();
  Curve curve;
  curve.steps = {2, 5, 6, 7, 8, 9, 10};
  curve.losses = {1.0 / 3, -0.0, 5e-324, 1.7976931348623157e308, kInf, -kInf, std::nan("")};
  const ScratchFolder folder;
  write_curve(curve, folder.path() / "a.jsonl");
  const Curve back = read_curve(folder.path() / "a.jsonl", {});
  EXPECT_EQ(back.steps, curve.steps);
  for (size_t i = 0; i + 1 < curve.losses.size(); ++i) EXPECT_EQ(back.losses[i], curve.losses[i]);
  EXPECT_TRUE(std::signbit(back.losses[1]));
  EXPECT_TRUE(std::isnan(back.losses.back()));
}

TEST(TraceCurve, AFileThatCannotBeWrittenIsNamed) {
  EXPECT_THROW(write_curve({}, "/nowhere/at/all/a.jsonl"), trace::Error);
}

}  // namespace
}  // namespace nanhunt::repro
