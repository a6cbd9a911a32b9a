// SPDX-License-Identifier: Apache-2.0
#include "repro/criteria.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "trace/error.h"

namespace nanhunt::repro {
namespace {

using testing::HasSubstr;

Criteria two_metrics() {
  Criteria criteria;
  criteria.criteria = {{Metric::kLate, {0.02, false}}, {Metric::kEarly, {2, true}}};
  return criteria;
}

TEST(Criteria, TheHashIsThatOfTheSortedJson) {
  // printf '%s' LINE | sha256sum
  const std::string line =
      R"({"alpha":0.05,"early":0.2,"late":0.2,"loss":"loss","metrics":)"
      R"({"early_loss":{"margin":2.0,"unit":"sd"},"late_loss":{"margin":0.02,"unit":"absolute"}},)"
      R"("quality":""})";
  EXPECT_EQ(to_json(two_metrics()).dump(), line);
  EXPECT_EQ(sha256(two_metrics()),
            "f85ba36b4e45c7537b52c78d0b354bfe823959addd90054c92016eb81bd78edf");
}

TEST(Criteria, TheHashChangesWithEachThreshold) {
  std::vector<Criteria> all(9, two_metrics());
  all[1].alpha = 0.01;
  all[2].fractions.early = 0.1;
  all[3].fractions.late = 0.1;
  all[4].criteria[0].margin.value = 0.03;
  all[5].criteria[0].margin.of_deviation = true;
  all[6].criteria[0].metric = Metric::kWhole;
  all[7].criteria.pop_back();
  all[8].names.loss = "train/loss";
  std::set<std::string> hashes;
  for (const Criteria& criteria : all) hashes.insert(sha256(criteria));
  EXPECT_EQ(hashes.size(), all.size());
}

TEST(Criteria, TheOrderOfMetricsIsNoThreshold) {
  Criteria swapped = two_metrics();
  std::swap(swapped.criteria[0], swapped.criteria[1]);
  EXPECT_EQ(sha256(swapped), sha256(two_metrics()));
}

TEST(Criteria, MarginsAreNumbersOrDeviations) {
  EXPECT_EQ(parse_margin("0.02").value, 0.02);
  EXPECT_FALSE(parse_margin("0.02").of_deviation);
  EXPECT_EQ(parse_margin("1.5sd").value, 1.5);
  EXPECT_TRUE(parse_margin("1.5sd").of_deviation);
  for (const char* text : {"", "sd", "2 sd", "0.02x", "small", "2sdsd", "0,02"}) {
    EXPECT_THROW(parse_margin(text), trace::Error) << text;
  }
}

std::string refusal(const Criteria& criteria) {
  try {
    require_valid(criteria);
  } catch (const trace::Error& error) {
    EXPECT_EQ(error.kind(), trace::ErrorKind::kUsage);
    return error.what();
  }
  return "";
}

TEST(Criteria, ThoseThatCannotDecideAreRefused) {
  EXPECT_EQ(refusal(two_metrics()), "");
  for (const double margin : {0.0, -0.02, std::numeric_limits<double>::quiet_NaN()}) {
    Criteria criteria = two_metrics();
    criteria.criteria[0].margin.value = margin;
    EXPECT_THAT(refusal(criteria), HasSubstr("the margin of late_loss is"));
  }
  Criteria twice = two_metrics();
  twice.criteria[1].metric = Metric::kLate;
  EXPECT_THAT(refusal(twice), HasSubstr("two criteria for late_loss"));
  Criteria nameless = two_metrics();
  nameless.criteria[1].metric = Metric::kQuality;
  EXPECT_THAT(refusal(nameless), HasSubstr("no column is named for it"));
  nameless.names.quality = "accuracy";
  EXPECT_EQ(refusal(nameless), "");
  Criteria none = two_metrics();
  none.criteria.clear();
  EXPECT_THAT(refusal(none), HasSubstr("no metric"));
  Criteria part = two_metrics();
  part.fractions.late = 0;
  EXPECT_THAT(refusal(part), HasSubstr("the late part is 0 of the steps"));
}

}  // namespace
}  // namespace nanhunt::repro
