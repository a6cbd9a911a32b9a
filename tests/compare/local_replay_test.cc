// SPDX-License-Identifier: Apache-2.0
// Values that do not follow from their own operands: found in one trace alone, on both sides of a
// comparison, once for an op and its derivative.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "compare/judge.h"
#include "tests/compare/trace_builder.h"

namespace nanhunt::compare::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using trace::Phase;

constexpr int64_t kRows = 8, kWidth = 16;
using Factor = std::function<double(const Tap&)>;

// y = x w^T, z = silu(y), and their gradients; what `wrong` says is multiplied before anything
// reads it.
class Block {
 public:
  explicit Block(Factor wrong) : wrong_(std::move(wrong)) {}

  void write(const std::filesystem::path& folder) {
    const Values w = normal_values(kWidth * kWidth, 1, 0.25);
    const Values x = normal_values(kRows * kWidth, 2);
    const auto weight = add({.site = "fc.weight", .role = "param"}, w, {kWidth, kWidth});
    const auto input = add({.site = "before"}, x, {1, kRows, kWidth});
    Values y(x.size());
    for (size_t r = 0; r < kRows; ++r) {
      for (size_t o = 0; o < kWidth; ++o) y[r * kWidth + o] = dot(&x[r * kWidth], &w[o * kWidth]);
    }
    const auto fc =
        add({.site = "fc", .links = {weight, input}, .op = "linear"}, y, {1, kRows, kWidth}, &y);
    Values z(y.size()), gy(y.size());
    const Values gz = normal_values(y.size(), 3);
    const double slope = wrong_({.site = "act"});  // the wrong op has a wrong derivative
    for (size_t i = 0; i < y.size(); ++i) {
      const double s = 1 / (1 + std::exp(-static_cast<double>(y[i])));
      z[i] = static_cast<float>(y[i] * s);
      gy[i] = static_cast<float>(slope * gz[i] * s * (1 + y[i] * (1 - s)));
    }
    add({.site = "act", .links = {fc}, .op = "silu"}, z, {1, kRows, kWidth}, &z);
    const auto grad = add({.site = "act", .phase = Phase::kBackward, .role = "grad_output"}, gz,
                          {1, kRows, kWidth});
    add({.site = "fc", .phase = Phase::kBackward, .role = "grad_output", .links = {fc, grad}}, gy,
        {1, kRows, kWidth});
    builder_.write(folder);
  }

  TraceSource source() const { return builder_.source(); }

 private:
  static float dot(const float* a, const float* b) {
    double sum = 0;
    for (int64_t k = 0; k < kWidth; ++k) sum += static_cast<double>(a[k]) * b[k];
    return static_cast<float>(sum);
  }

  int64_t add(const Tap& tap, const Values& values, const std::vector<int64_t>& shape,
              Values* keep = nullptr) {
    const bool forward = tap.phase == Phase::kForward;
    Values changed = times(values, forward ? wrong_(tap) : 1);
    const auto sequence = builder_.add(tap, changed, copies(shape));
    if (keep != nullptr) *keep = std::move(changed);
    return sequence;
  }

  Factor wrong_;
  TraceBuilder builder_;
};

Factor healthy() {
  return [](const Tap&) { return 1.0; };
}

Factor wrong_at(const std::string& site) {
  return [site](const Tap& tap) { return tap.site == site ? 1.001 : 1.0; };
}

Verdict scan_of(const Factor& wrong) {
  const TemporaryFolder folder;
  Block(wrong).write(folder.path());
  return scan(trace::TraceReader(folder.path()), thresholds());
}

TEST(LocalReplay, ValuesThatFollowFromTheirOperandsAreClean) {
  const Verdict verdict = scan_of(healthy());
  EXPECT_EQ(verdict.kind, VerdictKind::kClean) << to_text(verdict);
  EXPECT_EQ(verdict.coverage.replayed, 3);
  EXPECT_THAT(verdict.coverage.not_replayed, IsEmpty());
  EXPECT_THAT(to_text(verdict), HasSubstr("computed again 3"));
}

TEST(LocalReplay, AFactorOf1001IsProvenWithoutReference) {
  const Verdict verdict = scan_of(wrong_at("fc"));
  ASSERT_THAT(verdict.origins, SizeIs(1)) << to_text(verdict);
  const Origin& origin = verdict.origins.front();
  EXPECT_EQ(origin.finding.rule, "local_replay");
  EXPECT_EQ(origin.finding.severity, oracle::Severity::kProven);
  EXPECT_EQ(origin.finding.what.site, "fc");
  EXPECT_THAT(origin.finding.ranks, ElementsAre(0));
  EXPECT_EQ(origin.inputs, Inputs::kWithin);
  EXPECT_EQ(origin.signature, "constant_ratio") << origin.signature_detail;
  EXPECT_THAT(origin.signature_detail, HasSubstr("ratio 1.001"));
}

TEST(LocalReplay, CanBeLeftOut) {
  const TemporaryFolder folder;
  Block(wrong_at("fc")).write(folder.path());
  JudgeOptions options;
  options.replay = false;
  const Verdict verdict = scan(trace::TraceReader(folder.path()), thresholds(), options);
  EXPECT_EQ(verdict.kind, VerdictKind::kClean);
  EXPECT_EQ(verdict.coverage.replayed, 0);
}

TEST(LocalReplay, TheDerivativeOfAWrongOpIsPassedOnFromIt) {
  const Verdict verdict = scan_of(wrong_at("act"));
  ASSERT_THAT(verdict.origins, SizeIs(1)) << to_text(verdict);
  EXPECT_EQ(verdict.origins.front().finding.what.site, "act");
  EXPECT_EQ(verdict.origins.front().finding.what.phase, Phase::kForward);
  EXPECT_EQ(verdict.origins.front().passed_on, 1);
}

Verdict compare_of(const Factor& mine, const Factor& theirs) {
  const TemporaryFolder a, b;
  Block candidate(mine), reference(theirs);
  candidate.write(a.path());
  reference.write(b.path());
  const auto envelope = envelope_around(reference.source(), 1e-3);
  JudgeOptions options;
  options.envelope = &envelope;
  return compare_traces(trace::TraceReader(a.path()), trace::TraceReader(b.path()), thresholds(),
                        options);
}

TEST(LocalReplay, AFaultInBothTracesIsFoundAndBlamedOnBoth) {
  const Verdict verdict = compare_of(wrong_at("fc"), wrong_at("fc"));
  ASSERT_THAT(verdict.origins, SizeIs(1)) << to_text(verdict);
  EXPECT_EQ(verdict.origins.front().finding.what.site, "fc");
  EXPECT_EQ(verdict.blame(), Blame::kBoth);
  // Must fail: in neither of them.
  EXPECT_EQ(compare_of(healthy(), healthy()).kind, VerdictKind::kClean);
}

TEST(LocalReplay, AFaultInTheReferenceBlamesTheReference) {
  const Verdict verdict = compare_of(healthy(), wrong_at("fc"));
  ASSERT_FALSE(verdict.origins.empty()) << to_text(verdict);
  EXPECT_EQ(verdict.blame(), Blame::kReference);
  EXPECT_EQ(compare_of(wrong_at("fc"), healthy()).blame(), Blame::kCandidate);
}

}  // namespace
}  // namespace nanhunt::compare::test
