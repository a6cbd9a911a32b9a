// SPDX-License-Identifier: Apache-2.0
// A clip factor that a wrong gradient made accuses none of the others.
#include "compare/common_factor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "compare/judge_sources.h"
#include "tests/compare/trace_builder.h"

namespace nanhunt::compare::test {
namespace {

using testing::ElementsAre;
using testing::SizeIs;
using trace::Phase;

// Gradients of four parameters as a job that clips by itself leaves them; the first and the last
// are still to be summed over the ranks. `edit` gets rank and number of the parameter.
void add_step(TraceBuilder& builder, int tp, double noise,
              const std::function<void(int, int, Values&)>& edit) {
  const char* sites[] = {"embedding.weight", "fc1.weight", "norm.weight", "fc2.weight"};
  for (int rank = 0; rank < tp; ++rank) {
    for (int i = 0; i < 4; ++i) {
      const auto seed = static_cast<uint64_t>(i);
      Values values = normal_values(64, 40 + seed);
      const Values draw = normal_values(64, 50 + seed);
      for (size_t k = 0; k < 64; ++k) values[k] *= static_cast<float>(1 + noise * draw[k]);
      edit(rank, i, values);
      const bool share = i == 0 || i == 3;
      if (share) values = times(values, 1.0 / tp);
      builder.add({rank, sites[i], Phase::kUnscaled, "grad"}, values,
                  share ? partial({64}) : copies({64}));
    }
  }
}

TraceBuilder clipped_gradients(int tp, double noise, int steps,
                               const std::function<void(int, int, Values&)>& edit) {
  TraceBuilder builder(tp);
  for (int step = 0; step < steps; ++step) {
    builder.begin_step(step);
    add_step(builder, tp, noise, edit);
  }
  return builder;
}

Verdict judge_gradients(const std::function<void(int, int, Values&)>& edit, double healthy = 1e-3,
                        int steps = 1) {
  const TraceBuilder mine = clipped_gradients(2, healthy, steps, edit);
  const TraceBuilder other = clipped_gradients(1, 0, steps, [](int, int, Values&) {});
  const auto candidate = mine.source(), reference = other.source();
  const auto envelope = envelope_around(reference, healthy);
  JudgeOptions options;
  options.envelope = &envelope;
  return judge_sources(candidate, &reference, thresholds(), options);
}

TEST(CommonFactor, AFactorThatAWrongGradientMadeIsPassedOn) {
  const Verdict verdict = judge_gradients([](int rank, int parameter, Values& values) {
    if (parameter == 2) values = times(values, rank == 0 ? 0.3 : 0.7);
    values = times(values, rank == 0 ? 0.95 : 0.93);  // by each rank's own norm
  });
  ASSERT_THAT(verdict.origins, SizeIs(1)) << to_text(verdict);
  const Origin& origin = verdict.origins.front();
  EXPECT_EQ(origin.finding.what.site, "norm.weight");
  EXPECT_EQ(origin.signature, "missing_reduction");
  EXPECT_GE(origin.passed_on, 3);
}

TEST(CommonFactor, AFactorOfOneRankIsPassedOnFromWhatThatRankHasWrong) {
  const Verdict verdict = judge_gradients([](int rank, int parameter, Values& values) {
    if (rank == 0 || parameter == 0 || parameter == 3) return;
    if (parameter == 2) values[3] += 5;
    values = times(values, 0.9);
  });
  ASSERT_THAT(verdict.origins, SizeIs(1)) << to_text(verdict);
  EXPECT_EQ(verdict.origins.front().finding.what.site, "norm.weight");
  EXPECT_THAT(verdict.origins.front().finding.ranks, ElementsAre(1));
}

TEST(CommonFactor, LaterStepsComeFromWhereTheFirstDid) {
  const auto wrong = [](int rank, int parameter, Values& values) {
    if (parameter == 2) values = times(values, rank == 0 ? 0.3 : 0.7);
    values = times(values, rank == 0 ? 0.95 : 0.93);
  };
  const Verdict verdict = judge_gradients(wrong, 1e-3, 2);
  ASSERT_THAT(verdict.origins, SizeIs(1)) << to_text(verdict);
  EXPECT_EQ(verdict.origins.front().finding.what.site, "norm.weight");
  EXPECT_GE(verdict.origins.front().passed_on, 7) << "three of the first step, four of the second";
}

// The factor is no more than a norm may round (3.8e-6 here), so that only copies that differ by it
// are findings.
TEST(CommonFactor, ASmallFactorStillMakesCopiesDiffer) {
  const auto edit = [](bool wrong) {
    return [=](int rank, int parameter, Values& values) {
      if (parameter == 2 && wrong) values = times(values, rank == 0 ? 0.3 : 0.7);
      values = times(values, rank == 0 ? 1 + 3e-6 : 1 + 2e-6);
    };
  };
  const Verdict verdict = judge_gradients(edit(true), 2e-7);
  ASSERT_THAT(verdict.origins, SizeIs(1)) << to_text(verdict);
  EXPECT_EQ(verdict.origins.front().finding.what.site, "norm.weight");
  EXPECT_EQ(judge_gradients(edit(false), 2e-7).origins.front().finding.what.site, "fc1.weight")
      << "nothing there could have moved the norm";
}

TEST(CommonFactor, AFactorThatAllGradientsHaveIsTheFault) {
  const Verdict verdict =
      judge_gradients([](int, int, Values& values) { values = times(values, 0.95); });
  ASSERT_FALSE(verdict.origins.empty());
  EXPECT_EQ(verdict.origins.front().finding.what.site, "embedding.weight") << to_text(verdict);
  EXPECT_EQ(verdict.origins.front().signature, "constant_ratio");
}

TEST(CommonFactor, AFactorIsNotMadeByASmallerError) {
  const Verdict verdict = judge_gradients([](int, int parameter, Values& values) {
    if (parameter == 2) values[3] += 0.1F;
    values = times(values, 0.5);
  });
  ASSERT_THAT(verdict.origins, SizeIs(4)) << to_text(verdict);
}

}  // namespace
}  // namespace nanhunt::compare::test
