// SPDX-License-Identifier: Apache-2.0
// A gradient that is 0 but for rounding: the bias of a linear layer whose output gradients cancel.
// Held against its terms a healthy one is clean and a wrong one is found, whatever the reference
// left of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "compare/judge.h"
#include "tests/compare/trace_builder.h"
#include "tests/support/scratch_folder.h"

namespace nanhunt::compare::test {
namespace {

using trace::Phase;

constexpr int64_t kRows = 64, kWidth = 16;
const std::string kBias = "key.bias";

// Every second row takes back the one before, so each column of g sums to 0 to the bit.
Values cancelling(uint64_t seed) {
  Values g = normal_values(kRows * kWidth, seed);
  for (size_t i = 0; i < g.size(); ++i) {
    if (i / kWidth % 2 == 1) g[i] = -g[i - kWidth];
  }
  return g;
}

using Edit = std::function<void(Values&)>;

// g and db = sum of g over the rows, then what `edit` makes of db. `noise`: of the operand,
// relative, by seed. The captured db is the sum as FP32 adds it.
void write_run(const std::filesystem::path& folder, double noise, uint64_t seed,
               const Edit& edit = {}, bool values = true) {
  TraceBuilder builder;
  Values g = cancelling(1);
  const Values draws = normal_values(g.size(), seed, noise);
  for (size_t i = 0; i < g.size(); ++i) g[i] *= 1 + draws[i];
  Values db(kWidth, 0.0f);
  for (size_t i = 0; i < g.size(); ++i) db[i % kWidth] += g[i];
  if (edit) edit(db);
  const auto out = builder.add({.site = "key", .op = "linear"}, normal_values(g.size(), 5),
                               copies({1, kRows, kWidth}));
  const auto gradient =
      builder.add({.site = "key", .phase = Phase::kBackward, .role = "grad_output", .links = {out}},
                  g, copies({1, kRows, kWidth}));
  builder.add({.site = kBias, .phase = Phase::kBackward, .role = "grad", .links = {gradient}}, db,
              copies({kWidth}));
  builder.add({.site = kBias, .phase = Phase::kUnscaled, .role = "grad"}, db, copies({kWidth}));
  builder.write(folder, values);
}

class OperandScale : public testing::Test {
 protected:
  // `healthy`: noise of the perturbed runs.
  Verdict judged(double candidate_noise, const Edit& edit, double reference_noise = 0,
                 double healthy = 1e-6, bool values = true) {
    const auto path = [&](const std::string& name) { return folder_.path() / name; };
    write_run(path("reference"), reference_noise, 2, {}, values);
    write_run(path("candidate"), candidate_noise, 3, edit, values);
    std::vector<trace::TraceReader> runs;
    for (uint64_t k = 0; k < 6; ++k) {
      const std::string name = "run" + std::to_string(k);
      write_run(path(name), healthy, 10 + k, {}, values);
      runs.emplace_back(path(name));
    }
    const trace::TraceReader reference(path("reference")), mine(path("candidate"));
    std::vector<const trace::TraceReader*> perturbed;
    for (const auto& run : runs) perturbed.push_back(&run);
    const auto envelope = oracle::build_envelope(reference, perturbed, "k");
    JudgeOptions options;
    options.envelope = &envelope;
    return compare_traces(mine, reference, thresholds(), options);
  }

  static bool finds(const Verdict& verdict, Phase phase) {
    const auto there = [&](const oracle::Finding& finding) {
      return finding.rule == "reference_envelope" && finding.what.site == kBias &&
             finding.what.phase == phase && finding.unit == "relative to its operands";
    };
    for (const Origin& origin : verdict.origins) {
      if (there(origin.finding) || std::ranges::any_of(origin.also, there)) return true;
    }
    return false;
  }

 private:
  ScratchFolder folder_;
};

Edit adds(float size) {
  return [size](Values& db) {
    for (float& value : db) value += size;
  };
}

TEST_F(OperandScale, WhatRoundingLeavesOfAZeroIsHealthy) {
  const Verdict verdict = judged(1e-6, {});
  EXPECT_EQ(verdict.kind, VerdictKind::kClean) << to_text(verdict);
  EXPECT_TRUE(verdict.coverage.unjudged.empty()) << to_text(verdict);
}

TEST_F(OperandScale, AHundredthOfItsTermsIsNot) {
  const Verdict verdict = judged(1e-6, adds(0.5f));
  EXPECT_EQ(verdict.kind, VerdictKind::kDivergence) << to_text(verdict);
}

// The reference is not 0 either: what its operands' rounding left.
TEST_F(OperandScale, AReferenceOfRoundingAloneIsNoMeasure) {
  const Verdict healthy = judged(1e-6, {}, 1e-6, 1e-6);
  EXPECT_EQ(healthy.kind, VerdictKind::kClean) << to_text(healthy);
  const Verdict wrong = judged(1e-6, adds(0.01f), 1e-6, 1e-6);
  EXPECT_TRUE(finds(wrong, Phase::kBackward)) << to_text(wrong);
  EXPECT_TRUE(finds(wrong, Phase::kUnscaled)) << to_text(wrong);
}

// At level stats the perturbed runs tell how far from 0 is healthy.
TEST_F(OperandScale, WithoutValuesTheEnvelopeKnows) {
  EXPECT_EQ(judged(1e-6, {}, 0, 1e-6, false).kind, VerdictKind::kClean);
  const Verdict verdict = judged(1e-6, adds(0.5f), 0, 1e-6, false);
  EXPECT_TRUE(finds(verdict, Phase::kBackward)) << to_text(verdict);
}

// The perturbed runs left it at 0 to the bit: their envelope would accuse the smallest rounding.
TEST_F(OperandScale, WhatNoRunMovedIsJudgedByTheOpsOwnRounding) {
  const Verdict healthy = judged(0, adds(1e-6f), 0, 0);
  EXPECT_EQ(healthy.kind, VerdictKind::kClean) << to_text(healthy);
  const Verdict wrong = judged(0, adds(0.5f), 0, 0);
  EXPECT_EQ(wrong.kind, VerdictKind::kDivergence) << to_text(wrong);
}

TEST_F(OperandScale, WithNeitherItIsNotJudgedAndSaidSo) {
  const Verdict verdict = judged(0, adds(1e-6f), 0, 0, false);
  EXPECT_EQ(verdict.kind, VerdictKind::kClean) << to_text(verdict);
  EXPECT_NE(to_text(verdict).find("was not computed again"), std::string::npos) << to_text(verdict);
}

}  // namespace
}  // namespace nanhunt::compare::test
