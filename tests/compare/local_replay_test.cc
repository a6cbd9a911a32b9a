// SPDX-License-Identifier: Apache-2.0
// Values that do not follow from their own operands: found in one trace alone, on both sides of a
// comparison, once for an op and its derivative.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "compare/judge.h"
#include "tests/compare/trace_builder.h"
#include "tests/support/scratch_folder.h"

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
// reads it. Ranks hold copies.
class Block {
 public:
  explicit Block(Factor wrong, int ranks = 1)
      : wrong_(std::move(wrong)), ranks_(ranks), builder_(1, ranks) {}

  // A program that adds a bias where the other has none: a wrong one, whose ops are right.
  Block& with_bias() {
    bias_ = normal_values(kWidth, 4);
    return *this;
  }

  void write(const std::filesystem::path& folder) {
    for (rank_ = 0; rank_ < ranks_; ++rank_) add_rank();
    builder_.write(folder);
  }

  TraceSource source() const { return builder_.source(); }

 private:
  void add_rank() {
    const Values w = normal_values(kWidth * kWidth, 1, 0.25);
    const Values x = normal_values(kRows * kWidth, 2);
    const auto weight = add({.site = "fc.weight", .role = "param"}, w, {kWidth, kWidth});
    const auto input = add({.site = "before"}, x, {1, kRows, kWidth});
    Values y(x.size());
    for (size_t r = 0; r < kRows; ++r) {
      for (size_t o = 0; o < kWidth; ++o) y[r * kWidth + o] = dot(&x[r * kWidth], &w[o * kWidth]);
    }
    std::vector<int64_t> operands{weight, input};
    if (!bias_.empty()) {
      operands.push_back(add({.site = "fc.bias", .role = "param"}, bias_, {kWidth}));
      for (size_t i = 0; i < y.size(); ++i) y[i] += bias_[i % kWidth];
    }
    const auto fc =
        add({.site = "fc", .links = operands, .op = "linear"}, y, {1, kRows, kWidth}, &y);
    Values z(y.size()), gy(y.size());
    const Values gz = normal_values(y.size(), 3);
    const double slope =
        wrong_({.rank = rank_, .site = "act"});  // the wrong op has a wrong derivative
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
  }

  static float dot(const float* a, const float* b) {
    double sum = 0;
    for (int64_t k = 0; k < kWidth; ++k) sum += static_cast<double>(a[k]) * b[k];
    return static_cast<float>(sum);
  }

  int64_t add(Tap tap, const Values& values, const std::vector<int64_t>& shape,
              Values* keep = nullptr) {
    tap.rank = rank_;
    Values changed = times(values, wrong_(tap));
    const auto sequence = builder_.add(tap, changed, copies(shape));
    if (keep != nullptr) *keep = std::move(changed);
    return sequence;
  }

  Factor wrong_;
  Values bias_;
  int ranks_, rank_ = 0;
  TraceBuilder builder_;
};

Factor healthy() {
  return [](const Tap&) { return 1.0; };
}

Factor wrong_at(const std::string& site) {
  return [site](const Tap& tap) {
    return tap.site == site && tap.phase == Phase::kForward ? 1.001 : 1.0;
  };
}

Verdict scan_of(const Factor& wrong, int ranks = 1) {
  const ScratchFolder folder;
  Block(wrong, ranks).write(folder.path());
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
  const ScratchFolder folder;
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

TEST(LocalReplay, FaultsOfTwoOpsAreTwoOriginsInOrder) {
  const Verdict verdict = scan_of([](const Tap& tap) {
    if (tap.site == "fc") return tap.phase == Phase::kForward ? 1.001 : 1.01;
    return tap.site == "act" && tap.phase == Phase::kForward ? 1.1 : 1.0;
  });
  // The gradient at fc is wrong by itself, but so is the op whose derivative it is: one of the two
  // cannot be told from the other, and it is counted under the op.
  ASSERT_THAT(verdict.origins, SizeIs(2)) << to_text(verdict);
  EXPECT_EQ(verdict.origins[0].finding.what.site, "fc");
  EXPECT_EQ(verdict.origins[1].finding.what.site, "act");
  EXPECT_EQ(verdict.origins[1].passed_on + verdict.origins[0].passed_on, 1);
}

TEST(LocalReplay, AFaultOfBackwardAloneOriginatesThere) {
  const Verdict verdict = scan_of([](const Tap& tap) {
    return tap.site == "fc" && tap.phase == Phase::kBackward ? 1.01 : 1.0;
  });
  ASSERT_THAT(verdict.origins, SizeIs(1)) << to_text(verdict);
  EXPECT_EQ(verdict.origins[0].finding.what.phase, Phase::kBackward);
  EXPECT_EQ(verdict.origins[0].finding.what.role, "grad_output");
}

TEST(LocalReplay, TellsWhichOfTwoCopiesIsWrong) {
  const Verdict verdict = scan_of(
      [](const Tap& tap) {
        return tap.rank == 1 && tap.site == "fc" && tap.phase == Phase::kForward ? 1.001 : 1.0;
      },
      2);
  ASSERT_FALSE(verdict.origins.empty()) << to_text(verdict);
  EXPECT_EQ(verdict.origins.front().finding.rule, "local_replay");
  EXPECT_THAT(verdict.origins.front().finding.ranks, ElementsAre(1));
  EXPECT_EQ(scan_of(healthy(), 2).kind, VerdictKind::kClean);
}

Verdict compare_of(Block candidate, Block reference) {
  const ScratchFolder a, b;
  candidate.write(a.path());
  reference.write(b.path());
  const auto envelope = envelope_around(reference.source(), 1e-3);
  JudgeOptions options;
  options.envelope = &envelope;
  return compare_traces(trace::TraceReader(a.path()), trace::TraceReader(b.path()), thresholds(),
                        options);
}

Verdict compare_of(const Factor& mine, const Factor& theirs) {
  return compare_of(Block(mine), Block(theirs));
}

TEST(LocalReplay, AWrongProgramOfRightOpsFollowsFromItsOperands) {
  const Verdict verdict = compare_of(Block(healthy()).with_bias(), Block(healthy()));
  ASSERT_FALSE(verdict.origins.empty()) << to_text(verdict);
  EXPECT_EQ(verdict.origins.front().finding.what.site, "fc");
  EXPECT_EQ(verdict.origins.front().finding.rule, "reference_envelope");
  EXPECT_TRUE(verdict.origins.front().follows_from_operands);
  EXPECT_THAT(to_text(verdict), HasSubstr("that it was this op, is wrong"));
  // Must fail: the op itself is wrong.
  const Verdict inside = compare_of(wrong_at("fc"), healthy());
  ASSERT_FALSE(inside.origins.empty()) << to_text(inside);
  EXPECT_FALSE(inside.origins.front().follows_from_operands);
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
