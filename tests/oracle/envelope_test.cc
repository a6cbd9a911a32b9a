// SPDX-License-Identifier: Apache-2.0
#include "oracle/envelope.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <random>

#include "tests/compare/trace_builder.h"
#include "tests/support/scratch_folder.h"
#include "trace/error.h"

namespace nanhunt::oracle {
namespace {

// Metrics of `samples` healthy runs: norms of vectors with nu independent components.
Pool pool_of(int samples, int nu, double scale, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  Pool pool;
  std::vector<double> squares;
  for (int s = 0; s < samples; ++s) {
    double sum = 0;
    for (int i = 0; i < nu; ++i) sum += std::pow(normal(random), 2);
    squares.push_back(scale * scale * sum / nu);
    pool.largest = std::max(pool.largest, std::sqrt(squares.back()));
  }
  pool.samples = samples;
  for (const double s : squares) pool.mean_square += s / samples;
  for (const double s : squares) {
    pool.relative_variance += std::pow(s / pool.mean_square - 1, 2) / (samples - 1);
  }
  pool.kind_freedom = samples - 1;
  return pool;
}

// Share of pools whose upper bound a further healthy run exceeds.
double false_alarms(int samples, int nu, int64_t judged, double model_factor) {
  auto thresholds = Thresholds::installed();
  thresholds.override_with("family_rate", 0.01);
  thresholds.override_with("envelope_model_factor", model_factor);
  std::mt19937_64 random(11);
  int alarms = 0;
  constexpr int kTrials = 2000;
  for (int t = 0; t < kTrials; ++t) {
    const Pool pool = pool_of(samples, nu, 1e-2, random);
    const Pool next = pool_of(1, nu, 1e-2, random);
    alarms += next.largest > bounds_of(pool, judged, thresholds).hi;
  }
  return static_cast<double>(alarms) / kTrials;
}

TEST(Envelope, HealthyRunsStayInsideAtTheStatedRate) {
  EXPECT_LE(false_alarms(20, 1, 1, 1), 0.02);
  EXPECT_LE(false_alarms(20, 50, 1, 1), 0.02);
}

TEST(Envelope, ATooSmallEnvelopeWouldAlarm) {
  EXPECT_GE(false_alarms(20, 50, 1, 0.7), 0.5);
}

TEST(Envelope, AFewTimesTheHealthyLevelIsOut) {
  std::mt19937_64 random(5);
  const auto thresholds = Thresholds::installed();
  const auto bounds = bounds_of(pool_of(24, 60, 1e-2, random), 2000, thresholds);
  EXPECT_LT(bounds.lo, bounds.hi);
  EXPECT_LT(bounds.hi, 5e-2);
  EXPECT_GT(bounds.lo, 1e-2);
}

TEST(Envelope, WhatNeverDeviatesMayNotDeviate) {
  const auto bounds = bounds_of(Pool{6, 0, 0, 5, 0}, 100, Thresholds::installed());
  EXPECT_EQ(bounds.hi, 0);
}

// Where the reference is 0, nothing is relative to it.
TEST(Envelope, OfAZeroReferenceHoldsTheDeviationItself) {
  const ScratchFolder folder;
  const auto write = [&](const std::string& name, const compare::test::Values& values) {
    compare::test::TraceBuilder builder;
    builder.add({.site = "key.bias", .phase = trace::Phase::kBackward, .role = "grad"}, values,
                compare::test::copies({4}));
    builder.write(folder.path() / name);
    return trace::TraceReader(folder.path() / name);
  };
  const auto base = write("base", {0, 0, 0, 0});
  const auto one = write("1", {3e-4f, 0, 0, 0}), two = write("2", {0, 0, -4e-4f, 0}),
             same = write("3", {0, -0.0f, 0, 0});
  const Envelope envelope = build_envelope(base, {&one, &two, &same}, "k");
  ASSERT_EQ(envelope.pools.size(), 1u);
  const auto& [key, pool] = *envelope.pools.begin();
  EXPECT_EQ(key.metric, Metric::kOperands);
  EXPECT_EQ(pool.samples, 3);
  EXPECT_NEAR(pool.mean_square, (9e-8 + 16e-8) / 3, 1e-13);
}

TEST(Envelope, FilesOfAnOlderVersionAreRefused) {
  const ScratchFolder folder;
  const auto path = folder / "envelope-old.json";
  std::ofstream(path) << R"({"nanhunt_envelope": 1, "key": "k", "pools": []})";
  try {
    read_envelope(path);
    FAIL() << "read";
  } catch (const trace::Error& error) {
    EXPECT_NE(std::string(error.what()).find("calibrate again"), std::string::npos);
  }
}

TEST(Envelope, FilesRoundTripAndForeignOnesAreRefused) {
  Envelope envelope;
  envelope.key = "k";
  envelope.pools[{"a.1.b", trace::Phase::kBackward, "grad", 2, Metric::kRow}] = {6, 1e-4, 0.1, 20,
                                                                                 0.02};
  const ScratchFolder folder;
  const auto path = folder / "envelope-k.json";
  write_envelope(envelope, path);
  const auto back = read_envelope(path);
  ASSERT_EQ(back.pools.size(), 1u);
  EXPECT_EQ(back.pools.begin()->first, envelope.pools.begin()->first);
  EXPECT_EQ(back.pools.begin()->second.mean_square, 1e-4);
  std::ofstream(path) << "{\"key\": 1}";
  EXPECT_THROW(read_envelope(path), trace::Error);
}

}  // namespace
}  // namespace nanhunt::oracle
