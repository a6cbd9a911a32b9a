// SPDX-License-Identifier: Apache-2.0
// The data of the plots.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "report/error_plot.h"
#include "report/loss_plot.h"
#include "tests/report/example_results.h"

namespace nanhunt::report::test {
namespace {

using compare::Measurement;
using compare::Verdict;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr double kInf = std::numeric_limits<double>::infinity();

Measurement measured(double value, double allowed, const std::string& standing) {
  return {{0, "decoder.layers.3.mlp", trace::Phase::kForward, "output", 0},
          "reference_envelope",
          "relative norm",
          standing,
          value,
          allowed};
}

std::vector<double> ratios(const std::vector<Measurement>& measurements) {
  Verdict verdict;
  verdict.measurements = measurements;
  std::vector<double> values;
  const auto plot = error_plot(verdict);
  for (const auto& point : plot["points"]) values.push_back(point["ratio"]);
  return values;
}

TEST(LayerOf, EndsAtTheFirstNumber) {
  EXPECT_EQ(layer_of("decoder.layers.3.mlp.linear_fc1.7"), "decoder.layers.3");
  EXPECT_EQ(layer_of("model.layers.11"), "model.layers.11");
  EXPECT_EQ(layer_of("embedding.word_embeddings.weight"), "embedding");
  EXPECT_EQ(layer_of("fc2.bias"), "fc2") << "fc2 is a name";
  EXPECT_EQ(layer_of("loss"), "loss");
  EXPECT_EQ(layer_of(""), "");
  EXPECT_EQ(layer_of("..5."), "..5");
}

TEST(ErrorPlot, IsMeasuredOverAllowedInOrder) {
  EXPECT_THAT(ratios({measured(2, 4, "within"), measured(30, 3, "out"), measured(1, 4, "within")}),
              ElementsAre(0.5, 10, 0.25));
}

TEST(ErrorPlot, HoldsWhatHasNoRatioAtTheEnds) {
  Verdict verdict;
  verdict.measurements = {measured(0.05, 1, "within"), measured(0, 0, "within"),
                          measured(3, 0, "out"),       measured(NAN, 1, "out"),
                          measured(kInf, 1, "out"),    measured(0, 5, "out"),
                          measured(20, 1, "out")};
  const auto plot = error_plot(verdict);
  EXPECT_DOUBLE_EQ(plot["floor"], 1e-3);
  EXPECT_DOUBLE_EQ(plot["top"], 1e3);
  EXPECT_THAT(ratios(verdict.measurements), ElementsAre(0.05, 1e-3, 1e3, 1e3, 1e3, 1e3, 20));
  EXPECT_EQ(plot["points"][3]["text"], "measured NaN, allowed 1 relative norm");
}

TEST(ErrorPlot, StaysInsideTheScaleOfNumbers) {
  for (const double ratio : ratios({measured(1e300, 1e-300, "out"), measured(1e-320, 1, "within"),
                                    measured(1e-300, 1e300, "within")})) {
    EXPECT_TRUE(std::isfinite(ratio) && ratio > 0) << ratio;
  }
}

TEST(ErrorPlot, OfAResultWithoutMeasurementsIsOfItsFindings) {
  Verdict verdict = divergence_verdict();
  const size_t all = error_plot(verdict)["points"].size();
  verdict.measurements.clear();
  size_t findings = 0;
  for (const auto& origin : verdict.origins) findings += 1 + origin.also.size();
  EXPECT_EQ(error_plot(verdict)["points"].size(), findings);
  EXPECT_GT(all, findings);
  EXPECT_TRUE(error_plot(Verdict{})["points"].empty());
}

TEST(ErrorPlot, KeepsFindingsWhenThereAreTooManyPoints) {
  std::vector<Measurement> many(kMostPoints + 500, measured(0.5, 1, "within"));
  many[kMostPoints + 400] = measured(7, 1, "out");
  many[3] = measured(0.9, 1, "within");
  const auto left = ratios(many);
  EXPECT_EQ(left.size(), kMostPoints);
  EXPECT_EQ(std::ranges::count(left, 7.0), 1);
  EXPECT_EQ(std::ranges::count(left, 0.9), 1);
}

TEST(LossPlot, HasBothSidesAndTellsWhatIsNotFinite) {
  Verdict verdict;
  verdict.losses = {{0, "loss", "output", 5, 5.5},
                    {1, "loss", "output", NAN, 5.25},
                    {0, "loss", "aux", -kInf, {}}};
  const auto series = loss_plot(verdict)["series"];
  ASSERT_EQ(series.size(), 3U);
  EXPECT_EQ(series[0]["name"], "loss, candidate");
  EXPECT_EQ(series[0]["points"].dump(), "[[0,5.0]]");
  EXPECT_EQ(series[1]["points"].dump(), "[[0,5.5],[1,5.25]]");
  EXPECT_EQ(series[2]["name"], "loss aux, candidate");
  EXPECT_THAT(non_finite_losses(verdict),
              ElementsAre("step 1, loss: candidate NaN", "step 0, loss aux: candidate -Inf"));
  EXPECT_TRUE(loss_plot(Verdict{})["series"].empty());
}

TEST(LossPlot, KeepsTheLastSteps) {
  Verdict verdict;
  for (int64_t step = 0; step < 3000; ++step) {
    verdict.losses.push_back({step, "loss", "output", 1, {}});
  }
  const auto points = loss_plot(verdict)["series"][0]["points"];
  EXPECT_EQ(points.size(), kMostSteps);
  EXPECT_EQ(points.back()[0], 2999);
}

}  // namespace
}  // namespace nanhunt::report::test
