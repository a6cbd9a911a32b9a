// SPDX-License-Identifier: Apache-2.0
// What the page says of each kind of result, and that no text of a result leaves its place.
#include "report/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compare/verdict_words.h"
#include "report/data.h"
#include "report/next_commands.h"
#include "report/resources.h"
#include "tests/report/example_results.h"
#include "tests/report/page_text.h"

namespace nanhunt::report::test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr size_t kMegabyte = 1 << 20;

std::string page_of(const compare::Verdict& verdict) {
  return to_html(through_files({verdict, {}}));
}

TEST(Page, OfARunHasEverySection) {
  const HuntResult result = through_files(run_result());
  const std::string html = to_html(result), text = shown(html);
  EXPECT_LT(html.size(), kMegabyte);
  EXPECT_THAT(text, HasSubstr("<pre id=\"ticket\">" + escaped(compare::ticket(result.verdict))));
  EXPECT_THAT(text, HasSubstr("divergence, blame candidate"));
  EXPECT_LT(text.find("id=\"ticket\""), text.find("id=\"findings\""));
  EXPECT_THAT(section(text, "findings"), HasSubstr("norm.weight"));
  EXPECT_THAT(section(text, "findings"), HasSubstr("unscaled, grad, step 0"));
  EXPECT_THAT(section(text, "error"), HasSubstr("id=\"error-plot\""));
  EXPECT_THAT(section(text, "loss"), HasSubstr("id=\"loss-plot\""));
  EXPECT_THAT(section(text, "coverage"), HasSubstr("sites fired"));
  EXPECT_THAT(section(text, "configurations"), HasSubstr("mesh tp"));
  EXPECT_THAT(section(text, "thresholds"), HasSubstr(result.verdict.thresholds_sha256));
  EXPECT_THAT(section(text, "thresholds"), HasSubstr("family_rate</th><td>0.001"));
  const std::string ablation = section(text, "ablation");
  EXPECT_THAT(ablation, HasSubstr("parallel.tp layout.sp, confirmed both ways"));
  EXPECT_THAT(ablation, HasSubstr("<td>off parallel.tp</td><td>pass</td>"));
  EXPECT_THAT(ablation, HasSubstr("<td>unresolved</td><td>no effect here</td>"));
  EXPECT_THAT(ablation, HasSubstr("overlap.grad_reduce: no end after 30 s"));
  EXPECT_THAT(section(text, "commands"), HasSubstr("nanhunt show run/reference norm.weight"));
}

TEST(Page, OfACompareHasNoAblation) {
  const std::string text = shown(page_of(divergence_verdict()));
  EXPECT_THAT(section(text, "ablation"), HasSubstr("No toggle was switched."));
  EXPECT_THAT(section(text, "ablation"), Not(HasSubstr("<table>")));
  EXPECT_THAT(section(text, "findings"), HasSubstr("norm.weight"));
}

TEST(Page, OfACleanVerdictSaysWhatItRestsOn) {
  const std::string text = shown(page_of(clean_verdict()));
  EXPECT_THAT(text, HasSubstr("<h1 class=\"good\">clean</h1>"));
  EXPECT_THAT(section(text, "findings"), HasSubstr("Clean in sites "));
  EXPECT_THAT(section(text, "findings"), HasSubstr("ranks 2 of 2, steps 0 1 2"));
  EXPECT_THAT(section(text, "findings"), Not(HasSubstr("<table")));
  EXPECT_THAT(section(text, "error"), HasSubstr("id=\"error-plot\"")) << "how close it came";
  EXPECT_THAT(shown(page_of(divergence_verdict())), Not(HasSubstr("Clean in sites")));
}

TEST(Page, OfASubjectThatTellsItselfJudgesNoTensor) {
  compare::Verdict verdict;
  verdict.kind = compare::VerdictKind::kFails;
  verdict.reason = "exit status 3";
  const std::string text = shown(page_of(verdict));
  EXPECT_THAT(text, HasSubstr("<h1 class=\"bad\">fails: exit status 3</h1>"));
  EXPECT_THAT(section(text, "findings"), HasSubstr("No tensor was judged"));
  EXPECT_THAT(section(text, "error"), HasSubstr("Nothing was measured."));
  EXPECT_THAT(section(text, "loss"), HasSubstr("The result holds no loss."));
  for (const char* id : {"coverage", "thresholds"}) {
    EXPECT_THAT(section(text, id), HasSubstr("No trace was judged."));
  }
}

TEST(Page, NamesWhatIsNotFinite) {
  const std::string html = page_of(nan_verdict());
  EXPECT_THAT(section(html, "loss"), HasSubstr("step 2, loss: candidate NaN"));
  EXPECT_THAT(section(shown(page_of(clean_verdict())), "loss"), Not(HasSubstr("NaN")));
  EXPECT_THAT(shown(html), HasSubstr("<h1 class=\"bad\">non-finite, blame candidate</h1>"));
  const size_t data = html.find("id=\"data\">") + 10;
  const std::string text = html.substr(data, html.find("</script>", data) - data);
  EXPECT_FALSE(nlohmann::json::parse(text, nullptr, false).is_discarded());
  EXPECT_EQ(count(text, ":null"), 0U);
}

TEST(Page, CapsFindingsAndSaysHowManyMore) {
  compare::Verdict verdict = divergence_verdict();
  const auto origin = verdict.origins.front();
  verdict.origins.assign(kMostFindings, origin);
  EXPECT_THAT(page_of(verdict), Not(HasSubstr("further independent origins")));
  verdict.origins.assign(kMostFindings + 4900, origin);
  const std::string html = page_of(verdict), findings = section(html, "findings");
  EXPECT_THAT(findings, HasSubstr("and 4900 further independent origins"));
  EXPECT_EQ(count(findings, "class=\"site\""), kMostFindings);
  EXPECT_LT(html.size(), kMegabyte);
}

TEST(Page, CapsLists) {
  compare::Verdict verdict = clean_verdict();
  verdict.coverage.missing.assign(kMostLines + 7, "one");
  verdict.differences.assign(kMostLines + 8, {"k", "1", "2"});
  verdict.events.assign(kMostLines + 9, "overflow");
  const std::string text = shown(page_of(verdict));
  EXPECT_THAT(section(text, "coverage"), HasSubstr("and 7 more"));
  EXPECT_THAT(section(text, "configurations"), HasSubstr("and 8 more differences"));
  EXPECT_THAT(text, HasSubstr("and 9 more events"));
}

TEST(Page, LoadsNothing) {
  const std::string html = to_html(run_result());
  std::string own = shown(html) + std::string(page_css());
  for (const auto script :
       {plots_js(), error_plot_js(), loss_plot_js(), curve_plot_js(), interval_plot_js()})
    own += script;
  for (const char* way : {"src=", "href=", "url(", "@import", "fetch("}) {
    EXPECT_THAT(own, Not(HasSubstr(way)));
  }
  EXPECT_THAT(html, HasSubstr("default-src 'none'"));
  EXPECT_THAT(html, HasSubstr(std::string(chart_js().substr(0, 120)))) << "with its notice";
}

// Elements of a page, by the start of their tags.
size_t elements(const std::string& html) {
  size_t number = 0;
  for (size_t i = 0; i + 1 < html.size(); ++i) {
    number += html[i] == '<' && (std::isalpha(static_cast<unsigned char>(html[i + 1])) != 0 ||
                                 html[i + 1] == '/' || html[i + 1] == '!');
  }
  return number;
}

TEST(Page, TextOfAResultStaysText) {
  const std::string html = to_html(through_files(hostile_result()));
  EXPECT_THAT(html, Not(HasSubstr("document.title='out'</script>")));
  EXPECT_THAT(html, Not(HasSubstr("<img")));
  EXPECT_THAT(html, HasSubstr("{{ticket}} {{{script}}}")) << "is no template";
  EXPECT_EQ(count(html, "</script>"), 3U);
  // A harmless result of the same shape has the same elements.
  HuntResult harmless = hostile_result();
  const auto tame = [](std::string& text) { text = "a"; };
  for (auto& origin : harmless.verdict.origins) {
    for (auto* text : {&origin.finding.what.site, &origin.finding.what.role, &origin.finding.rule,
                       &origin.finding.unit, &origin.finding.evidence, &origin.signature,
                       &origin.hosts.front()}) {
      tame(*text);
    }
  }
  EXPECT_EQ(elements(shown(html)), elements(shown(to_html(harmless))));
  // The twin: unescaped, it would have been seen.
  std::string broken = shown(html);
  const size_t at = broken.find("&lt;img");
  ASSERT_NE(at, std::string::npos);
  broken.replace(at, 4, "<");
  EXPECT_NE(elements(broken), elements(shown(html)));
}

TEST(NextCommands, AreQuotedForAShell) {
  EXPECT_EQ(quoted("decoder.layers.3/mlp"), "decoder.layers.3/mlp");
  EXPECT_EQ(quoted("a b"), "'a b'");
  EXPECT_EQ(quoted("it's $HOME"), "'it'\\''s $HOME'");
  EXPECT_EQ(quoted(""), "''");
}

}  // namespace
}  // namespace nanhunt::report::test
