// SPDX-License-Identifier: Apache-2.0
#include "repro/curve.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>

#include "tests/support/scratch_folder.h"
#include "trace/error.h"

namespace nanhunt::repro {
namespace {

using testing::ElementsAre;
using testing::EndsWith;

Curve read(const std::string& name, const std::string& text, const ColumnNames& names = {}) {
  const ScratchFolder folder;
  const auto path = folder / name;
  std::ofstream(path, std::ios::binary) << text;
  return read_curve(path, names);
}

// What reading says, or "".
std::string refusal(const std::string& name, const std::string& text,
                    const ColumnNames& names = {}) {
  try {
    read(name, text, names);
  } catch (const trace::Error& error) {
    EXPECT_EQ(error.kind(), trace::ErrorKind::kUnreadable);
    return error.what();
  }
  return "";
}

TEST(Curve, ReadsJsonLines) {
  const Curve curve = read("a.jsonl",
                           "{\"step\": 10, \"loss\": 2.5, \"lr\": 1e-4, \"note\": \"NaN, {\"}\n\n"
                           "{\"loss\": 2, \"step\": 20.0}\r\n{\"step\": 30, \"loss\": \"1.5\"}");
  EXPECT_THAT(curve.steps, ElementsAre(10, 20, 30));
  EXPECT_THAT(curve.losses, ElementsAre(2.5, 2, 1.5));
  EXPECT_THAT(curve.lines, ElementsAre(1, 3, 4));
  EXPECT_FALSE(curve.quality.has_value());
}

TEST(Curve, ReadsCsv) {
  const Curve curve = read("a.csv",
                           "\xEF\xBB\xBFloss, \"step\" ,\"name, of run\"\r\n2.5,10,\"x, y\"\r\n"
                           "+2e0,20,\r\n");
  EXPECT_THAT(curve.steps, ElementsAre(10, 20));
  EXPECT_THAT(curve.losses, ElementsAre(2.5, 2));
  EXPECT_THAT(curve.lines, ElementsAre(2, 3));
}

TEST(Curve, NanAndInfAreLosses) {
  const Curve curve = read("nan.jsonl",
                           "{\"step\": 1, \"loss\": 3}\n{\"step\": 2, \"loss\": Infinity}\n"
                           "{\"step\": 3, \"loss\": -Infinity}\n{\"step\": 4, \"loss\": NaN}\n"
                           "{\"step\": 5, \"loss\": \"NaN\"}\n{\"step\": 6, \"loss\": \"-Inf\"}\n");
  ASSERT_EQ(curve.losses.size(), 6u);
  EXPECT_EQ(curve.losses[1], std::numeric_limits<double>::infinity());
  EXPECT_EQ(curve.losses[2], -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(curve.losses[3]));
  EXPECT_TRUE(std::isnan(curve.losses[4]));
  EXPECT_EQ(curve.losses[5], -std::numeric_limits<double>::infinity());
  EXPECT_EQ(first_non_finite(curve), 2);
  const Curve csv = read("nan.csv", "step,loss\n1,3\n2,nan\n3,inf\n4,-inf\n");
  EXPECT_TRUE(std::isnan(csv.losses[1]));
  EXPECT_TRUE(std::isinf(csv.losses[3]));
  EXPECT_EQ(first_non_finite(read("ok.csv", "step,loss\n1,3\n")), std::nullopt);
}

TEST(Curve, NamesOfColumnsAreFree) {
  const ColumnNames names{"_step", "train/loss", "eval/accuracy"};
  const Curve curve = read("w.jsonl",
                           "{\"_step\": 1, \"train/loss\": 3}\n"
                           "{\"_step\": 1, \"eval/accuracy\": 0.2}\n"
                           "{\"_step\": 2, \"train/loss\": 2}\n"
                           "{\"_step\": 2, \"eval/accuracy\": 0.25}\n",
                           names);
  EXPECT_THAT(curve.losses, ElementsAre(3, 2));
  EXPECT_EQ(curve.quality, 0.25);
  const Curve csv = read("w.csv", "_step,train/loss,eval/accuracy\n1,3,\n1,,0.2\n2,2,0.3\n", names);
  EXPECT_THAT(csv.losses, ElementsAre(3, 2));
  EXPECT_EQ(csv.quality, 0.3);
}

TEST(Curve, BadFilesAreNamedWithTheLine) {
  const std::string good = "{\"step\": 1, \"loss\": 3}\n";
  EXPECT_EQ(refusal("good.jsonl", good), "");
  const auto after_good = [&](const std::string& row) { return refusal("b.jsonl", good + row); };
  EXPECT_THAT(after_good("{\"loss\": 3}"), EndsWith("b.jsonl:2: no \"step\""));
  EXPECT_THAT(after_good("{\"step\": 2}"), EndsWith("b.jsonl:2: step 2 has no \"loss\""));
  EXPECT_THAT(after_good("{\"step\": 2, \"loss\": null}"),
              EndsWith("b.jsonl:2: \"loss\" is \"null\", not a number"));
  EXPECT_THAT(after_good("{\"step\": 2, \"loss\": \"3 nats\"}"),
              EndsWith("b.jsonl:2: \"loss\" is \"3 nats\", not a number"));
  EXPECT_THAT(after_good("{\"step\": 2, \"loss\": true}"),
              EndsWith("\"loss\" is \"true\", not a number"));
  EXPECT_THAT(after_good("{\"step\": 2.5, \"loss\": 3}"),
              EndsWith("b.jsonl:2: \"step\" is \"2.5\", not an integer"));
  EXPECT_THAT(after_good("{\"step\": NaN, \"loss\": 3}"), EndsWith("not an integer"));
  EXPECT_THAT(after_good("{\"step\": 1, \"loss\": 2}"),
              EndsWith("b.jsonl:2: step 1 is there twice, first on line 1"));
  EXPECT_THAT(after_good("{\"step\": 0, \"loss\": 2}"),
              EndsWith("b.jsonl:2: step 0 comes after step 1"));
  EXPECT_THAT(after_good("{\"step\": 2, \"lo"), EndsWith("b.jsonl:2: not a JSON object"));
  EXPECT_THAT(after_good("[2, 3]"), EndsWith("b.jsonl:2: not a JSON object"));
  EXPECT_THAT(refusal("b.jsonl", ""), EndsWith("b.jsonl: holds no steps"));
  EXPECT_THAT(refusal("b.jsonl", good, {"step", "loss", "accuracy"}),
              EndsWith("b.jsonl: no row holds \"accuracy\""));
}

TEST(Curve, BadCsvIsNamedWithTheLine) {
  EXPECT_EQ(refusal("good.csv", "step,loss\n1,3\n"), "");
  EXPECT_THAT(refusal("b.csv", "step,loss\n1,3\n,2\n"), EndsWith("b.csv:3: no \"step\""));
  EXPECT_THAT(refusal("b.csv", "step,loss\n1,\n"), EndsWith("b.csv:2: step 1 has no \"loss\""));
  EXPECT_THAT(refusal("b.csv", "step,loss\n1,x\n"),
              EndsWith("b.csv:2: \"loss\" is \"x\", not a number"));
  EXPECT_THAT(refusal("b.csv", "step,loss\n1,1e999\n"), EndsWith("which FP64 cannot hold"));
  EXPECT_THAT(refusal("b.csv", "step,loss\n1,2,3\n"),
              EndsWith("b.csv:2: 3 fields under a header of 2"));
  EXPECT_THAT(refusal("b.csv", "step,lost\n1,2\n"),
              EndsWith("b.csv:1: the header has no \"loss\""));
  EXPECT_THAT(refusal("b.csv", "step,loss,loss\n1,2,2\n"), EndsWith("has several \"loss\""));
  EXPECT_THAT(refusal("b.csv", "step,loss\n1,\"2\n"), testing::HasSubstr("b.csv:2: "));
}

TEST(Curve, AMissingFileIsUnreadable) {
  const ScratchFolder folder;
  for (const std::string& path : {std::string("no/such.jsonl"), folder.path().string()}) {
    EXPECT_THROW(read_curve(path, {}), trace::Error) << path;
  }
}

std::string unlike(const std::string& a, const std::string& b) {
  try {
    require_same_steps(read("left.csv", "step,loss\n" + a), read("right.csv", "step,loss\n" + b));
  } catch (const trace::Error& error) {
    return error.what();
  }
  return "";
}

TEST(Curve, BothSidesHaveTheSameSteps) {
  const std::string three = "1,9\n2,8\n3,7\n";
  EXPECT_EQ(unlike(three, three), "");
  const std::string shorter = unlike(three, "1,9\n2,8\n");
  EXPECT_THAT(shorter, testing::HasSubstr("left.csv:4: step 3 is missing in "));
  EXPECT_THAT(shorter, EndsWith("right.csv, which ends at step 2 on line 3"));
  EXPECT_THAT(unlike("1,9\n3,7\n", three), testing::HasSubstr("right.csv:3: step 2 is missing in"));
  EXPECT_THAT(unlike(three, "1,9\n3,7\n"), testing::HasSubstr("left.csv:3: step 2 is missing in"));
  EXPECT_THAT(unlike("0,9\n" + three, three), testing::HasSubstr("left.csv:2: step 0 is missing"));
}

Curve curve_of(const std::vector<double>& losses) {
  Curve curve;
  curve.losses = losses;
  return curve;
}

TEST(Summary, PartsAreSharesOfTheSteps) {
  const Curve curve = curve_of({10, 8, 6, 4, 2, 1, 1, 1, 1, 0});
  EXPECT_DOUBLE_EQ(summarise(curve, Metric::kEarly, {0.2, 0.2}), 9);
  EXPECT_DOUBLE_EQ(summarise(curve, Metric::kLate, {0.2, 0.2}), 0.5);
  EXPECT_DOUBLE_EQ(summarise(curve, Metric::kWhole, {0.2, 0.2}), 3.4);
  EXPECT_DOUBLE_EQ(summarise(curve, Metric::kEarly, {0.3, 0.2}), 8);
  EXPECT_DOUBLE_EQ(summarise(curve, Metric::kEarly, {0.01, 0.2}), 10) << "at least one step";
  EXPECT_DOUBLE_EQ(summarise(curve, Metric::kLate, {0.2, 1}), 3.4);
}

TEST(Summary, NanStaysAndFiniteStaysFinite) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Curve curve = curve_of({3, 2, nan, 2, 1});
  EXPECT_EQ(summarise(curve, Metric::kEarly, {0.4, 0.4}), 2.5);
  EXPECT_TRUE(std::isnan(summarise(curve, Metric::kWhole, {0.4, 0.4})));
  EXPECT_DOUBLE_EQ(summarise(curve_of({1.5e308, 1.5e308}), Metric::kWhole, {}), 1.5e308);
}

TEST(Summary, QualityIsTheLastOne) {
  Curve curve = curve_of({1});
  curve.quality = 0.75;
  EXPECT_EQ(summarise(curve, Metric::kQuality, {}), 0.75);
}

TEST(Summary, FractionsThatAreNoneAreRefused) {
  for (const double fraction : {0.0, -0.1, 1.1, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THROW(require_fractions({fraction, 0.2}), trace::Error) << fraction;
    EXPECT_THROW(require_fractions({0.2, fraction}), trace::Error) << fraction;
  }
  EXPECT_NO_THROW(require_fractions({1, 0.001}));
}

TEST(Metrics, NamesReadBack) {
  for (const Metric metric : {Metric::kEarly, Metric::kLate, Metric::kWhole, Metric::kQuality}) {
    EXPECT_EQ(metric_named(name_of(metric)), metric);
  }
  EXPECT_EQ(metric_named("loss"), std::nullopt);
}

}  // namespace
}  // namespace nanhunt::repro
