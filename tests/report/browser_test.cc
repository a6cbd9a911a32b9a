// SPDX-License-Identifier: Apache-2.0
// The page in a browser: headless Chromium runs its scripts, and tells the document that they left,
// what they wrote to the console, and what was to be seen.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "ablate/child.h"
#include "report/page.h"
#include "report/resources.h"
#include "tests/report/example_repro.h"
#include "tests/report/example_results.h"

namespace nanhunt::report::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

struct Seen {
  std::string document;              // as the scripts left it
  std::vector<std::string> console;  // lines
  std::string picture;               // PNG
};

std::string text_of(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

Seen see(const std::string& html) {
  const Folder folder;
  const fs::path picture = folder.path() / "page.png";
  ablate::ChildSpec spec;
  spec.words = {NANHUNT_CHROMIUM,
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--host-resolver-rules=MAP * ~NOTFOUND",  // no network
                "--user-data-dir=" + (folder.path() / "profile").string(),
                "--enable-logging=stderr",
                "--window-size=1000,1600",
                "--screenshot=" + picture.string(),
                "--dump-dom",
                "file://" + folder.write("page.html", html).string()};
  spec.environment = {{"HOME", folder.path().string()}};
  spec.output = folder.path() / "document.txt";
  spec.errors = folder.path() / "errors.txt";
  ablate::ChildRunner children;
  const auto outcome = children.run(spec);
  EXPECT_EQ(ablate::describe(outcome), "exit status 0") << ablate::tail_of(spec.errors, 5);
  Seen seen{text_of(spec.output), {}, text_of(picture)};
  std::istringstream errors(text_of(spec.errors));
  for (std::string line; std::getline(errors, line);) {
    if (line.find("CONSOLE") != std::string::npos) seen.console.push_back(line);
  }
  return seen;
}

std::string without(std::string html, std::string_view part) {
  const size_t at = html.find(part);
  EXPECT_NE(at, std::string::npos);
  return at == std::string::npos ? html : html.erase(at, part.size());
}

// The attribute that a canvas gets after the library drew it.
std::string drawn(const std::string& document, const std::string& id) {
  const size_t tag = document.find("<canvas id=\"" + id + "\"");
  if (tag == std::string::npos) return "no canvas";
  const std::string attributes = document.substr(tag, document.find('>', tag) - tag);
  const size_t at = attributes.find("data-drawn=\"");
  if (at == std::string::npos) return "not drawn";
  return attributes.substr(at + 12, attributes.find('"', at + 12) - at - 12);
}

TEST(Browser, ShowsTheVerdictAndDrawsThePlots) {
  const HuntResult result = through_files(run_result());
  const Seen seen = see(to_html(result));
  EXPECT_THAT(seen.console, IsEmpty());
  EXPECT_THAT(seen.document, HasSubstr("divergence, blame candidate"));
  EXPECT_THAT(seen.document, HasSubstr("norm.weight, unscaled, grad, step 0"));
  EXPECT_EQ(drawn(seen.document, "error-plot"), std::to_string(result.verdict.measurements.size()));
  EXPECT_EQ(drawn(seen.document, "loss-plot"), "6") << "three steps of two sides";
  // A PNG of one colour takes a few kB at this size.
  EXPECT_THAT(seen.picture, testing::StartsWith("\x89PNG"));
  EXPECT_GT(seen.picture.size(), 50000U);
}

TEST(Browser, ShowsALevelReportWithItsCurves) {
  LevelResult result = level_result();
  result.convergence = convergence_of({.lost = 1});
  const Seen seen = see(to_html(through_file(result)));
  EXPECT_THAT(seen.console, IsEmpty());
  EXPECT_THAT(seen.document, HasSubstr("state different, replay not judged"));
  EXPECT_THAT(seen.document, HasSubstr("different: NaN or Inf on one side only"));
  // A dot a pair, the fifth without a late loss; and the mean.
  EXPECT_EQ(drawn(seen.document, "interval-0"), "6");
  EXPECT_EQ(drawn(seen.document, "interval-1"), "5");
  // 20 steps of two means and two sides of pair 5, and a cross.
  EXPECT_EQ(drawn(seen.document, "curves-plot"), "81");
  EXPECT_EQ(drawn(seen.document, "differences-plot"), "120") << "five pairs and their mean";
  EXPECT_GT(seen.picture.size(), 50000U);
}

TEST(Browser, ShowsAConvergenceResult) {
  const Seen seen = see(to_html(through_file(convergence_of({}))));
  EXPECT_THAT(seen.console, IsEmpty());
  EXPECT_THAT(seen.document, HasSubstr("equivalent: early_loss, late_loss are equivalent"));
  EXPECT_EQ(drawn(seen.document, "interval-1"), "6");
  EXPECT_EQ(drawn(seen.document, "curves-plot"), "40");
}

// What cannot be drawn is left out, and nothing else with it.
TEST(Browser, DrawsWhatAResultHas) {
  const Seen one = see(to_html(through_file(convergence_of({.pairs = 1, .lost = 1}))));
  EXPECT_THAT(one.console, IsEmpty());
  EXPECT_EQ(drawn(one.document, "interval-0"), "1") << "no mean of one pair";
  EXPECT_EQ(drawn(one.document, "interval-1"), "0");
  EXPECT_EQ(drawn(one.document, "curves-plot"), "41");
}

TEST(Browser, WithoutTheLibraryNoCurveIsDrawnAndThatIsTold) {
  const Seen seen = see(without(to_html(convergence_of({})), chart_js()));
  EXPECT_EQ(drawn(seen.document, "interval-0"), "not drawn");
  EXPECT_EQ(drawn(seen.document, "curves-plot"), "not drawn");
  ASSERT_THAT(seen.console, Not(IsEmpty()));
  EXPECT_THAT(seen.document, HasSubstr("equivalent: early_loss, late_loss are equivalent"));
}

TEST(Browser, WithoutTheLibraryNothingIsDrawnAndThatIsTold) {
  const Seen seen = see(without(to_html(run_result()), chart_js()));
  EXPECT_EQ(drawn(seen.document, "error-plot"), "not drawn");
  ASSERT_THAT(seen.console, Not(IsEmpty()));
  EXPECT_THAT(seen.console.front(), HasSubstr("Chart is not defined"));
  EXPECT_THAT(seen.document, HasSubstr("divergence, blame candidate"))
      << "the text needs no script";
}

TEST(Browser, ABlankPageIsASmallPicture) {
  const Seen seen = see("<!doctype html><title>blank</title>");
  EXPECT_THAT(seen.picture, testing::StartsWith("\x89PNG"));
  EXPECT_LT(seen.picture.size(), 20000U);
  EXPECT_EQ(drawn(seen.document, "error-plot"), "no canvas");
}

TEST(Browser, TextOfAResultRunsNothing) {
  const Seen seen = see(to_html(through_files(hostile_result())));
  EXPECT_THAT(seen.console, IsEmpty());
  EXPECT_THAT(seen.document, HasSubstr("<title>nanhunt: divergence</title>"));
  EXPECT_THAT(seen.document, Not(HasSubstr("<img")));
  EXPECT_NE(drawn(seen.document, "error-plot"), "not drawn");
}

// The twin: the same text as HTML does run.
TEST(Browser, UnescapedTextWouldHaveBeenSeen) {
  std::string html = to_html(through_files(hostile_result()));
  const std::string text =
      "&lt;/script&gt;&lt;script&gt;document.title=&apos;out&apos;&lt;/script&gt;";
  const size_t at = html.find(text);
  ASSERT_NE(at, std::string::npos);
  html.replace(at, text.size(), "<script>document.title='out'</script>");
  EXPECT_THAT(see(html).document, HasSubstr("<title>out</title>"));
}

}  // namespace
}  // namespace nanhunt::report::test
