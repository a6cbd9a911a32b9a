// SPDX-License-Identifier: Apache-2.0
// A rounding with a bias is found by the signs of the deviations, within every other bound; a
// healthy rounding is not, nor one whose errors rows share, nor a factor that all values share.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>

#include "compare/judge.h"
#include "tests/compare/trace_builder.h"
#include "tests/support/scratch_folder.h"

namespace nanhunt::compare::test {
namespace {

constexpr int64_t kRows = 256, kWidth = 64;
constexpr double kRoundoff = 0x1p-8;  // of BF16

float truncated(double value) {
  return std::bit_cast<float>(std::bit_cast<uint32_t>(static_cast<float>(value)) & 0xffff0000u);
}

float rounded(double value) {
  const auto bits = std::bit_cast<uint32_t>(static_cast<float>(value));
  return truncated(std::bit_cast<float>(bits + 0x7fffu + ((bits >> 16) & 1u)));
}

using Round = std::function<float(double)>;

struct Output {
  double noise = 2 * kRoundoff;  // of what went before, by element, relative, uniform
  double noise_of_rows = 0;      // the same, by row
  double factor = 1;             // of all values
  uint64_t seed = 1;
  Round round = rounded;
  trace::DType storage = trace::DType::kBFloat16;
};

class SignBias : public testing::Test {
 protected:
  Verdict judged(const Output& candidate, Output reference, Output perturbed) {
    perturbed.storage = reference.storage;
    const trace::TraceReader mine = write("candidate", candidate),
                             other = write("reference", reference);
    std::vector<trace::TraceReader> runs;
    std::vector<const trace::TraceReader*> pointers;
    for (uint64_t k = 0; k < 8; ++k) {
      perturbed.seed = 20 + k;
      runs.push_back(write("run" + std::to_string(k), perturbed));
    }
    for (const auto& run : runs) pointers.push_back(&run);
    const auto envelope = oracle::build_envelope(other, pointers, "k");
    JudgeOptions options;
    options.envelope = &envelope;
    return compare_traces(mine, other, thresholds(), options);
  }

  // Noise before the reference's own rounding, as much as the candidate has.
  Verdict judged(const Output& candidate) {
    return judged(candidate, {.noise = 0, .storage = candidate.storage},
                  {.noise = 3 * kRoundoff, .noise_of_rows = candidate.noise_of_rows});
  }

 private:
  trace::TraceReader write(const std::string& name, const Output& output) {
    Values values = normal_values(kRows * kWidth, 7);
    const Values noise = uniform(values.size(), output.seed);
    const Values rows = uniform(kRows, output.seed + 100);
    for (size_t i = 0; i < values.size(); ++i) {
      const double relative = output.noise * noise[i] + output.noise_of_rows * rows[i / kWidth];
      const double value = values[i] * (1 + relative) * output.factor;
      const bool narrow = output.storage == trace::DType::kBFloat16;
      values[i] = narrow ? output.round(value) : static_cast<float>(value);
    }
    TraceBuilder builder;
    builder.add({.site = "fc", .storage = output.storage}, values, copies({kRows, kWidth}));
    builder.write(folder_.path() / name);
    return trace::TraceReader(folder_.path() / name);
  }

  // In [-1, 1], from the ranks of normal numbers.
  static Values uniform(size_t count, uint64_t seed) {
    Values values = normal_values(count, seed);
    for (float& value : values) value = std::erf(value / std::sqrt(2.0f));
    return values;
  }

  ScratchFolder folder_;
};

constexpr const char* kUnit = "excess of one sign over root n";

TEST_F(SignBias, OfAHealthyRoundingIsNone) {
  const Verdict verdict = judged({});
  EXPECT_EQ(verdict.kind, VerdictKind::kClean) << to_text(verdict);
}

// Only the signs tell: its norm, rows, columns and elements are those of the healthy twin.
TEST_F(SignBias, TruncationIsFoundByTheSignsAlone) {
  const Verdict verdict = judged({.round = truncated});
  ASSERT_EQ(verdict.origins.size(), 1u) << to_text(verdict);
  const auto& finding = verdict.origins.front().finding;
  EXPECT_EQ(finding.rule, "reference_envelope");
  EXPECT_EQ(finding.severity, oracle::Severity::kSuspicious);
  EXPECT_EQ(finding.unit, kUnit) << to_text(verdict);
  EXPECT_NE(finding.evidence.find("towards 0 than away"), std::string::npos) << finding.evidence;
}

// Away from 0 wherever it is not exact.
TEST_F(SignBias, RoundingUpIsFoundTheOtherWay) {
  const Round away = [](double value) {
    const float down = truncated(value);
    return down == static_cast<float>(value)
               ? down
               : std::bit_cast<float>(std::bit_cast<uint32_t>(down) + 0x10000u);
  };
  const Verdict verdict = judged({.round = away});
  ASSERT_EQ(verdict.origins.size(), 1u) << to_text(verdict);
  EXPECT_NE(verdict.origins.front().finding.evidence.find("away from 0 than towards"),
            std::string::npos);
}

// The perturbed runs show what rows have in common.
TEST_F(SignBias, ErrorsThatRowsShareAreHealthyWhereTheyWereMeasured) {
  const Verdict verdict = judged({.noise = kRoundoff, .noise_of_rows = 4 * kRoundoff, .seed = 3});
  EXPECT_EQ(verdict.kind, VerdictKind::kClean) << to_text(verdict);
}

// A denominator rounded in FP32 moves all values of a BF16 tensor by far less than their rounding,
// of an FP32 tensor by as much: there signs say nothing.
TEST_F(SignBias, OfACommonFactorSaysNothing) {
  const double factor = 1 + 0x1p-24;
  EXPECT_EQ(judged({.factor = factor}).kind, VerdictKind::kClean);
  const Verdict verdict =
      judged({.noise = 0, .factor = 1 + 0x1p-22, .storage = trace::DType::kFloat32},
             {.noise = 0, .storage = trace::DType::kFloat32}, {.noise = 0x1p-20});
  EXPECT_EQ(verdict.kind, VerdictKind::kClean) << to_text(verdict);
}

}  // namespace
}  // namespace nanhunt::compare::test
