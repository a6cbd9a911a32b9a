// SPDX-License-Identifier: Apache-2.0
// Results read back from their JSON say what they said; what is none is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "repro/convergence.h"
#include "repro/report.h"
#include "trace/error.h"

namespace nanhunt::repro {
namespace {

using nlohmann::json;
using testing::HasSubstr;

// Four pairs of ten steps, the last of which is lost on side B.
Convergence lost_seed() {
  std::vector<CurvePair> pairs(4);
  for (size_t seed = 0; seed < pairs.size(); ++seed) {
    for (Curve* curve : {&pairs[seed].a, &pairs[seed].b}) {
      curve->path = (curve == &pairs[seed].a ? "a" : "b") + std::to_string(seed);
      for (int step = 0; step < 10; ++step) {
        curve->steps.push_back(step);
        curve->losses.push_back(3 + static_cast<double>(seed) - 0.1 * step);
      }
      curve->quality = 0.5 + 0.001 * static_cast<double>(seed);
    }
    pairs[seed].b.losses[4] += seed % 2 == 0 ? 0.01 : -0.01;
  }
  pairs[3].b.losses[9] = std::numeric_limits<double>::quiet_NaN();
  auto same = pairs;
  for (CurvePair& pair : same) {
    pair.a.path = "r" + pair.a.path.string();
    pair.b.path = "r" + pair.b.path.string();
    pair.b.losses[9] = pair.a.losses[9];
  }
  Criteria criteria;
  criteria.names.quality = "accuracy";
  criteria.criteria = {{Metric::kQuality, {0.01}}, {Metric::kWhole, {3, true}}};
  Convergence result = judge(criteria, pairs, same);
  result.command = "nanhunt repro --pair a0=b0";
  return result;
}

template <typename Read>
std::string refusal(const Read& read, const json& object) {
  try {
    read(object);
  } catch (const trace::Error& error) {
    EXPECT_EQ(error.kind(), trace::ErrorKind::kUnreadable);
    return error.what();
  }
  return "taken";
}

TEST(ReadConvergence, SaysWhatItSaid) {
  const Convergence written = lost_seed();
  const Convergence read = convergence_from_json(json::parse(to_json(written).dump()));
  EXPECT_EQ(to_text(read), to_text(written));
  EXPECT_EQ(to_json(read), to_json(written));
  EXPECT_TRUE(std::isnan(read.curves.pairs.at(3).b.back()));
  EXPECT_EQ(read.curves.mean_of, 3);
  EXPECT_EQ(read.metrics[1].steps->last, 9);
  EXPECT_FALSE(read.metrics[0].steps);
}

TEST(ReadConvergence, OfPairsThatTellNothing) {
  Criteria criteria;
  criteria.criteria = {{Metric::kLate, {0.1}}};
  const Convergence written = judge(criteria, {}, {});
  EXPECT_EQ(to_text(convergence_from_json(to_json(written))), to_text(written));
}

TEST(ReadConvergence, ResultsHadNoCurvesAtFirst) {
  json object = to_json(lost_seed());
  object.erase("curves");
  object.erase("command");
  for (json& metric : object["metrics"]) metric.erase("steps");
  const Convergence read = convergence_from_json(object);
  EXPECT_TRUE(read.curves.pairs.empty());
  EXPECT_FALSE(read.metrics[1].steps);
}

TEST(ReadConvergence, WhatIsNoneIsRefused) {
  const json whole = to_json(lost_seed());
  const auto told = [](const json& object) { return refusal(convergence_from_json, object); };
  EXPECT_EQ(told(whole), "taken");
  EXPECT_THAT(told(json::array()), HasSubstr("no convergence result: it is no JSON object"));
  for (const char* key : {"verdict", "reason", "criteria", "thresholds_sha256", "pairs", "notes",
                          "metrics", "steps", "same_pairs"}) {
    json object = whole;
    object.erase(key);
    EXPECT_THAT(told(object), HasSubstr("no convergence result: it has no '" + std::string(key)));
  }
  const auto changed = [&](const char* pointer, const json& value) {
    json object = whole;
    object[json::json_pointer(pointer)] = value;
    return told(object);
  };
  EXPECT_THAT(changed("/schema", 2), HasSubstr("its schema is 2, and this program reads 1"));
  EXPECT_THAT(changed("/verdict", "fine"), HasSubstr("'verdict' is 'fine'"));
  EXPECT_THAT(changed("/metrics/0/metric", "loss"), HasSubstr("'metric' is 'loss'"));
  EXPECT_THAT(changed("/metrics/0/mean", "much"), HasSubstr("no convergence result: "));
  EXPECT_THAT(changed("/metrics/0/values", json::array()), HasSubstr("values of each pair"));
  EXPECT_THAT(changed("/criteria/alpha", 0.1), HasSubstr("not those of 'thresholds_sha256'"));
  EXPECT_THAT(changed("/curves/pairs", json::array()), HasSubstr("curves of 0 pairs"));
  EXPECT_THAT(changed("/curves/pairs/0/a", {1, 2}), HasSubstr("10 steps and 2 and 10 losses"));
}

Report two_levels() {
  Report report{"a question", {}, std::string(64, 'a')};
  report.levels.push_back({capsule::Level::kState,
                           "tensors",
                           "equal values",
                           LevelVerdict::kDifferent,
                           {"1 of 2 tensors are equal", "optimizer step is 2 in A, 0 in B"},
                           {"/nowhere/capsules"},
                           {"nanhunt repro --state a b"}});
  report.levels.push_back(
      {capsule::Level::kReplay, "steps", "bits", LevelVerdict::kNotJudged, {"none ran"}, {}, {}});
  return report;
}

// to_json asks for artifacts that are there.
json json_of(Report report) {
  report.levels[0].artifacts = {"/"};
  return to_json(report);
}

TEST(ReadReport, SaysWhatItSaid) {
  const Report read = report_from_json(json::parse(json_of(two_levels()).dump()));
  EXPECT_EQ(to_json(read), json_of(two_levels()));
  EXPECT_EQ(ticket(read), ticket(two_levels()));
}

TEST(ReadReport, ArtifactsMayBeElsewhere) {
  json object = json_of(two_levels());
  object["levels"][0]["artifacts"] = {"/no/longer/there"};
  EXPECT_EQ(report_from_json(object).levels[0].artifacts[0], "/no/longer/there");
}

TEST(ReadReport, WhatIsNoneIsRefused) {
  const json whole = json_of(two_levels());
  const auto changed = [&](const char* pointer, const json& value) {
    json object = whole;
    object[json::json_pointer(pointer)] = value;
    return refusal(report_from_json, object);
  };
  EXPECT_EQ(refusal(report_from_json, whole), "taken");
  EXPECT_THAT(changed("/schema", "nanhunt.repro.2"),
              HasSubstr("its schema is \"nanhunt.repro.2\", and this program reads"));
  EXPECT_THAT(changed("/levels/0/verdict", "fine"), HasSubstr("'verdict' is 'fine'"));
  EXPECT_THAT(changed("/levels/1/level", "cost"), HasSubstr("'level' is 'cost'"));
  EXPECT_THAT(changed("/levels/0/evidence", 3), HasSubstr("no reproducibility report: "));
  EXPECT_THAT(changed("/levels", json::array()), HasSubstr("it has no level"));
  EXPECT_THAT(refusal(report_from_json, json{{"schema", "nanhunt.repro.1"}}),
              HasSubstr("it has no 'question'"));
}

}  // namespace
}  // namespace nanhunt::repro
