// SPDX-License-Identifier: Apache-2.0
// The pages of `nanhunt repro`: what they say of each verdict, and the data of their plots.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "report/data.h"
#include "report/page.h"
#include "report/repro/curve_plot.h"
#include "report/repro/interval_plot.h"
#include "tests/report/example_repro.h"
#include "tests/report/example_results.h"
#include "tests/report/page_text.h"
#include "trace/error.h"

namespace nanhunt::report::test {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(ConvergencePage, HasEverySection) {
  const auto result = through_file(convergence_of({}));
  const std::string text = shown(to_html(result));
  EXPECT_THAT(text, HasSubstr("<h1 class=\"good\">equivalent: early_loss, late_loss are"));
  EXPECT_THAT(text, HasSubstr("<pre id=\"ticket\">" + escaped(repro::ticket(result))));
  const std::string metrics = section(text, "metrics");
  EXPECT_THAT(metrics, HasSubstr("5 pairs, A/A pairs 0, logged steps 20: 0 to 19"));
  EXPECT_THAT(metrics, HasSubstr("<td>late_loss</td><td class=\"good\">equivalent</td>"));
  EXPECT_THAT(metrics, HasSubstr("90 % interval"));
  for (const auto& line : repro::metric_lines(result, 1)) {
    EXPECT_THAT(metrics, HasSubstr(escaped(line)));
  }
  EXPECT_EQ(count(metrics, "data-plot=\"interval\""), 2u);
  EXPECT_THAT(section(text, "curves"), HasSubstr("means over 5 of 5 pairs."));
  EXPECT_THAT(section(text, "seeds"), HasSubstr("<td>a-3, b-3</td>"));
  EXPECT_THAT(section(text, "margins"), HasSubstr(result.thresholds_sha256));
  EXPECT_THAT(section(text, "margins"),
              HasSubstr("margin of late_loss</th><td>0.03, of steps 16 to 19"));
  EXPECT_THAT(section(text, "margins"), HasSubstr("nanhunt repro --pair a-1=b-1"));
}

TEST(ConvergencePage, OfADifference) {
  const std::string text = shown(to_html(through_file(convergence_of({.shift = 0.2}))));
  EXPECT_THAT(text, HasSubstr("<h1 class=\"bad\">different: early_loss, late_loss are different"));
  EXPECT_THAT(text, Not(HasSubstr("class=\"good\"")));
  EXPECT_THAT(shown(to_html(convergence_of({}))), Not(HasSubstr("class=\"bad\"")));
}

TEST(ConvergencePage, NamesLostPairs) {
  const std::string text = shown(to_html(through_file(convergence_of({.lost = 1}))));
  EXPECT_THAT(text, HasSubstr("<h1 class=\"bad\">different: NaN or Inf on one side only</h1>"));
  EXPECT_THAT(section(text, "metrics"),
              HasSubstr("note: pair 5 (a-5, b-5) went to NaN or Inf on side B only, at step 19"));
  EXPECT_THAT(section(text, "curves"), HasSubstr("means over 4 of 5 pairs, those without NaN"));
  EXPECT_THAT(shown(to_html(convergence_of({}))), Not(HasSubstr("note: ")));
}

TEST(ConvergencePage, OfOnePairHasNoInterval) {
  const std::string text = shown(to_html(through_file(convergence_of({.pairs = 1}))));
  EXPECT_THAT(text, HasSubstr("<h1 class=\"unclear\">unknown"));
  EXPECT_THAT(section(text, "metrics"), HasSubstr("[-Inf, Inf]"));
  EXPECT_THAT(section(text, "metrics"), HasSubstr("<td>unknown</td><td>unknown</td></tr>"));
}

TEST(ConvergencePage, OfAResultWithoutCurvesSaysSo) {
  auto result = convergence_of({});
  result.curves = {};
  result.command.clear();
  const std::string text = shown(to_html(result));
  EXPECT_THAT(section(text, "curves"), HasSubstr("The result holds no curves."));
  EXPECT_THAT(section(text, "curves"), Not(HasSubstr("<canvas")));
  EXPECT_THAT(section(text, "margins"), Not(HasSubstr("made by")));
  EXPECT_THAT(section(shown(to_html(convergence_of({}))), "curves"), HasSubstr("<canvas"));
}

TEST(ConvergencePage, SaysWhichPairsAreDrawn) {
  const auto many = convergence_of({.pairs = 12, .lost = 2});
  EXPECT_THAT(pairs_to_draw(many), ElementsAre(4, 5, 6, 7, 8, 9, 10, 11));
  EXPECT_THAT(section(shown(to_html(many)), "curves"), HasSubstr("8 of 12 pairs are drawn"));
  auto first_lost = many;
  first_lost.curves.pairs[0].a[3] = INFINITY;
  EXPECT_THAT(pairs_to_draw(first_lost), ElementsAre(0, 5, 6, 7, 8, 9, 10, 11));
}

TEST(CurvePlot, TheBandHasTheMarginOfTheStepsPart) {
  auto result = convergence_of({});
  EXPECT_EQ(margin_at(result, 3), 0.02);
  EXPECT_EQ(margin_at(result, 10), std::nullopt) << "no metric covers it";
  EXPECT_EQ(margin_at(result, 16), 0.03);
  result.metrics.push_back(result.metrics[0]);
  result.metrics[2].metric = repro::Metric::kWhole;
  result.metrics[2].steps = {0, 19};
  result.metrics[2].margin = 0.001;
  EXPECT_EQ(margin_at(result, 10), 0.001);
  EXPECT_EQ(margin_at(result, 16), 0.03);
  result.metrics[0].steps->last = 16;
  EXPECT_EQ(margin_at(result, 16), 0.02) << "the smaller of two parts";
}

TEST(CurvePlot, HoldsMeansBandAndLostPairs) {
  const auto result = convergence_of({.lost = 1});
  const json plot = loss_curves(result);
  ASSERT_EQ(plot["a"].size(), 20u);
  const double a = plot["a"][2][1], high = plot["high"][2][1], low = plot["low"][2][1];
  EXPECT_NEAR(high - a, 0.02, 1e-12);
  EXPECT_NEAR(a - low, 0.02, 1e-12);
  EXPECT_TRUE(plot["high"][10][1].is_null());
  ASSERT_EQ(plot["lost"].size(), 1u);
  EXPECT_EQ(plot["lost"][0]["name"], "pair 5");
  EXPECT_TRUE(plot["lost"][0]["b"][19][1].is_null());
  EXPECT_EQ(plot["marks"].dump(), R"([{"step":19,"text":"pair 5 B: NaN"}])");
  EXPECT_GE(plot["marked"], 9.0) << "above the first loss of pair 5";
  EXPECT_TRUE(loss_curves(convergence_of({}))["marks"].empty());
}

TEST(CurvePlot, OfLostPairsOnlyHasNoMean) {
  const auto result = convergence_of({.pairs = 3, .lost = 3});
  EXPECT_TRUE(loss_curves(result)["a"].empty());
  EXPECT_EQ(loss_curves(result)["lost"].size(), 3u);
  EXPECT_EQ(difference_curves(result)["high"].size(), 20u);
  EXPECT_THAT(shown(to_html(result)), HasSubstr("there is no mean to draw"));
}

TEST(CurvePlot, DifferencesAreOfEachPair) {
  const json plot = difference_curves(convergence_of({.shift = 0.5}));
  ASSERT_EQ(plot["pairs"].size(), 5u);
  EXPECT_NEAR(plot["pairs"][1]["points"][7][1], 0.5 - 0.002, 1e-12);
  EXPECT_NEAR(plot["mean"][7][1], 0.5 + 0.001 * 3 / 5, 1e-12);
  EXPECT_EQ(plot["high"][0][1], 0.02);
  EXPECT_EQ(plot["low"][19][1], -0.03);
  EXPECT_TRUE(difference_curves(convergence_of({.pairs = 1}))["mean"].empty());
}

TEST(IntervalPlot, IsInTheMetricsUnit) {
  const auto result = convergence_of({});
  const json plot = interval_plots(result)[1];
  EXPECT_EQ(plot["margin"], 0.03);
  EXPECT_EQ(plot["low"], result.metrics[1].test.low);
  EXPECT_EQ(plot["mean"], result.metrics[1].test.mean);
  EXPECT_EQ(plot["pairs"].size(), 5u);
  const json one = interval_plots(convergence_of({.pairs = 1}))[0];
  EXPECT_TRUE(one["low"].is_null() && one["high"].is_null() && one["mean"].is_null());
  EXPECT_EQ(one["pairs"].size(), 1u);
}

TEST(LevelsPage, HasEverySection) {
  const LevelResult result = through_file(level_result());
  const std::string text = shown(to_html(result));
  EXPECT_THAT(text, HasSubstr("<h1 class=\"bad\">state different, replay not judged</h1>"));
  EXPECT_THAT(text, HasSubstr("<pre id=\"ticket\">" + escaped(repro::ticket(result.report))));
  const std::string levels = section(text, "levels");
  EXPECT_THAT(levels, HasSubstr("<td>state</td><td class=\"bad\">different</td>"
                                "<td>parameters and moments</td><td>equal values</td><td>"));
  EXPECT_THAT(levels, HasSubstr("replay and convergence are broken with it"));
  EXPECT_THAT(levels, HasSubstr("<td>replay</td><td class=\"quiet\">not judged</td>"));
  const std::string evidence = section(text, "evidence");
  EXPECT_THAT(evidence, HasSubstr("optimizer step is 2 in A"));
  EXPECT_THAT(evidence, HasSubstr("shown by <code>run/capsules</code>"));
  EXPECT_THAT(evidence, HasSubstr("made by <code>nanhunt repro --state a@2 b@2</code>"));
  EXPECT_EQ(count(evidence, "made by"), 1u) << "replay was not judged";
  EXPECT_THAT(section(text, "thresholds"), HasSubstr(std::string(64, 'e')));
  EXPECT_THAT(text, Not(HasSubstr("<canvas")));
}

TEST(LevelsPage, OfEqualLevelsIsGood) {
  LevelResult result = level_result();
  for (auto& level : result.report.levels) level.verdict = repro::LevelVerdict::kEqual;
  const std::string text = shown(to_html(result));
  EXPECT_THAT(text, HasSubstr("<h1 class=\"good\">state equal, replay equal</h1>"));
  EXPECT_THAT(text, Not(HasSubstr("class=\"bad\"")));
  result.report.levels[1].verdict = repro::LevelVerdict::kUnknown;
  EXPECT_THAT(shown(to_html(result)), HasSubstr("<h1 class=\"unclear\">state equal, replay unkn"));
}

TEST(LevelsPage, HoldsTheConvergenceOfItsLevel) {
  LevelResult result = level_result();
  result.convergence = convergence_of({.shift = 0.2});
  const std::string text = shown(to_html(through_file(result)));
  EXPECT_THAT(section(text, "metrics"), HasSubstr("<h2>Convergence: different: early_loss"));
  EXPECT_EQ(count(text, "<canvas"), 4u);
  EXPECT_THAT(section(text, "thresholds"), HasSubstr(result.convergence->thresholds_sha256));
  EXPECT_EQ(count(text, "<h1"), 1u);
}

TEST(LevelsPage, WithoutSeedsHasNoConvergence) {
  const Folder folder;
  json object = {{"schema", "nanhunt.repro.1"}, {"question", "why"}, {"thresholds_sha256", "ab"}};
  json level = {
      {"level", "state"},          {"observable", "all"},       {"threshold", "equal values"},
      {"verdict", "equal"},        {"evidence", json::array()}, {"artifacts", json::array()},
      {"commands", json::array()}, {"convergence", nullptr}};
  object["levels"] = json::array({level});
  const auto page = [&] {
    return to_html(read_result(folder.write("r.json", object.dump())).content);
  };
  EXPECT_THAT(shown(page()), Not(HasSubstr("id=\"metrics\"")));
  object["levels"][0]["convergence"] = repro::to_json(convergence_of({}));
  EXPECT_THAT(shown(page()), HasSubstr("id=\"metrics\""));
  object["levels"][0]["convergence"] = 3;
  EXPECT_THROW(page(), trace::Error);
}

TEST(LevelsPage, CapsEvidence) {
  LevelResult result = level_result();
  result.report.levels[0].evidence.assign(kMostLines + 5, "line");
  EXPECT_THAT(section(shown(to_html(result)), "evidence"), HasSubstr("and 5 more lines"));
}

TEST(ReproPages, TextOfAResultStaysText) {
  for (const Content& content : {Content(hostile_convergence()), Content(hostile_levels())}) {
    const std::string html = to_html(content);
    EXPECT_THAT(html, Not(HasSubstr("document.title='out'</script>")));
    EXPECT_THAT(html, Not(HasSubstr("<img")));
    EXPECT_THAT(html, HasSubstr("text {{ticket}} {{{script}}}")) << "is no template";
    EXPECT_EQ(count(html, "</script>"), 3u);
    EXPECT_THAT(shown(html), HasSubstr("&lt;img")) << "the twin: it is there";
  }
}

TEST(ReproPages, HarmfulFilesAreRefused) {
  const Folder folder;
  json object = repro::to_json(convergence_of({}));
  const auto told = [&] {
    try {
      read_result(folder.write("r.json", object.dump()));
    } catch (const trace::Error& error) {
      return std::string(error.what());
    }
    return std::string("taken");
  };
  EXPECT_EQ(told(), "taken");
  object["metrics"][0]["low"] = "</script>";
  EXPECT_THAT(told(), HasSubstr("r.json: no convergence result: "));
  object = {{"schema", 1}, {"seeds", 5}, {"alpha", 0.05}, {"rows", json::array()}};
  EXPECT_THAT(told(), HasSubstr("no verdict: ")) << "a plan is no result";
}

}  // namespace
}  // namespace nanhunt::report::test
