// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/oracle/step_builder.h"

namespace nanhunt::oracle::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using trace::MeshAxis;
using trace::Phase;

const std::vector<int64_t> kShape{32, 16};
const trace::Placement kWhole = trace::whole({"out", "in"}, kShape);
constexpr double kAdam[] = {0.9, 0.95};

double squares(const std::vector<float>& values) {
  double sum = 0;
  for (const float v : values) sum += static_cast<double>(v) * v;
  return sum;
}

// Two tensor-parallel ranks: a sharded weight and a replicated norm weight.
// The norm that the run used is that of `copies` counts of the replicated one.
std::vector<Finding> norm(double copies, const std::string& attributes = "") {
  StepBuilder run(mesh_facts(2, 1));
  const auto low = normal_values(256, 1), high = normal_values(256, 2),
             shared = normal_values(16, 3);
  const double used = std::sqrt(squares(low) + squares(high) + copies * squares(shared));
  for (int rank = 0; rank < 2; ++rank) {
    run.add(rank, Phase::kUnscaled, "linear.weight", "grad", rank == 0 ? low : high,
            slice(kShape, 0, rank, 2));
    run.add(rank, Phase::kUnscaled, "norm.weight", "grad", shared, trace::whole({"channel"}, {16}));
    run.scalar(rank, Phase::kClipped, "optimizer", "grad_norm", used, attributes);
  }
  return findings_of("norm_recomputed", run, run.step());
}

TEST(NormRecomputed, EachElementOncePasses) {
  EXPECT_THAT(norm(1), IsEmpty());
}
TEST(NormRecomputed, ReplicasCountedTwiceAreFound) {
  const auto findings = norm(2);
  ASSERT_THAT(findings, SizeIs(2));
  EXPECT_EQ(findings[0].what.role, "grad_norm");
}
TEST(NormRecomputed, ReplicasLeftOutAreFound) {
  EXPECT_THAT(norm(0), SizeIs(2));
}

TEST(NormRecomputed, OfTensorsThatWereNotCapturedItMayBeLargerAlone) {
  const std::string strangers = R"({"strangers":1})";
  EXPECT_THAT(norm(1, strangers), IsEmpty());
  EXPECT_THAT(norm(2, strangers), IsEmpty());
  EXPECT_THAT(norm(0, strangers), SizeIs(2));
}

// Two norms of two parts, as a program takes them that clips them apart; `swapped`: each part has
// the other's number. Without `numbered` all is one.
std::vector<Finding> two_norms(bool numbered, bool swapped = false) {
  StepBuilder run(mesh_facts(1, 1));
  for (int part = 0; part < 2; ++part) {
    const auto gradient = normal_values(512, static_cast<uint64_t>(part) + 1);
    const std::string number = R"({"norm":)" + std::to_string(part) + "}";
    const std::string other = R"({"norm":)" + std::to_string(1 - part) + "}";
    const std::string site = "part" + std::to_string(part);
    auto& unscaled = run.add(0, Phase::kUnscaled, site, "grad", gradient, kWhole);
    if (numbered) unscaled.attributes = swapped ? other : number;
    run.scalar(0, Phase::kClipped, "optimizer", "grad_norm", std::sqrt(squares(gradient)),
               numbered ? number : "");
  }
  return findings_of("norm_recomputed", run, run.step());
}

TEST(NormRecomputed, EachNormIsOfTheGradientsThatHaveItsNumber) {
  EXPECT_THAT(two_norms(true), IsEmpty());
}
TEST(NormRecomputed, ANormOfOtherGradientsIsFound) {
  EXPECT_THAT(two_norms(true, true), SizeIs(2));
}
TEST(NormRecomputed, WithoutNumbersEachIsOfAll) {
  EXPECT_THAT(two_norms(false), SizeIs(2));
}

std::vector<Finding> largest_element(const std::string& attributes) {
  StepBuilder run(mesh_facts(1, 1));
  const auto gradient = normal_values(512, 1);
  run.add(0, Phase::kUnscaled, "w", "grad", gradient, kWhole);
  run.scalar(0, Phase::kClipped, "optimizer", "grad_norm", 3, attributes);
  return findings_of("norm_recomputed", run, run.step());
}

TEST(NormRecomputed, ANormOfAnotherKindIsNotJudged) {
  EXPECT_THAT(largest_element(R"({"norm_type":"inf"})"), IsEmpty());
  EXPECT_THAT(largest_element(""), SizeIs(1));
}

std::vector<Finding> clip(double factor_used, int skipping_rank) {
  StepBuilder run(mesh_facts(2, 1));
  const double norm_value = 4, max_norm = 1, factor = max_norm / (norm_value + 1e-6);
  for (int rank = 0; rank < 2; ++rank) {
    const auto gradient = normal_values(512, 7);
    auto clipped = gradient;
    if (rank != skipping_rank) {
      for (float& v : clipped) v *= static_cast<float>(factor);
    }
    run.add(rank, Phase::kUnscaled, "norm.weight", "grad", gradient, kWhole);
    run.scalar(rank, Phase::kClipped, "optimizer", "grad_norm", norm_value);
    run.scalar(rank, Phase::kClipped, "optimizer", "clip_factor", factor_used * factor,
               R"({"max_norm":1.0})");
    run.add(rank, Phase::kClipped, "norm.weight", "grad", clipped, kWhole);
  }
  return findings_of("clip_recomputed", run, run.step());
}

TEST(ClipRecomputed, ClippedEverywherePasses) {
  EXPECT_THAT(clip(1, -1), IsEmpty());
}
TEST(ClipRecomputed, TheRankThatSkippedIsNamed) {
  const auto findings = clip(1, 1);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].ranks, ElementsAre(1));
  EXPECT_EQ(findings[0].what.phase, Phase::kClipped);
}
TEST(ClipRecomputed, AWrongFactorIsFoundAtTheFactor) {
  const auto findings = clip(0.5, -1);
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings[0].what.role, "clip_factor");
}

// Two parts clipped apart, each by its own factor; the second by the first's when `wrong`.
std::vector<Finding> clip_apart(bool wrong) {
  StepBuilder run(mesh_facts(1, 1));
  for (int part = 0; part < 2; ++part) {
    const double norm_value = part == 0 ? 4 : 16;
    const std::string number = R"("norm":)" + std::to_string(part) + "}";
    const std::string site = "part" + std::to_string(part);
    const auto gradient = normal_values(512, 7);
    auto clipped = gradient;
    for (float& v : clipped) v /= static_cast<float>((wrong ? 4 : norm_value) + 1e-6);
    run.add(0, Phase::kUnscaled, site, "grad", gradient, kWhole).attributes = "{" + number;
    run.scalar(0, Phase::kClipped, "optimizer", "grad_norm", norm_value, "{" + number);
    run.scalar(0, Phase::kClipped, "optimizer", "clip_factor", 1 / (norm_value + 1e-6),
               R"({"max_norm":1.0,)" + number);
    run.add(0, Phase::kClipped, site, "grad", clipped, kWhole);
  }
  return findings_of("clip_recomputed", run, run.step());
}

TEST(ClipRecomputed, PartsClippedApartPass) {
  EXPECT_THAT(clip_apart(false), IsEmpty());
}
TEST(ClipRecomputed, APartClippedByTheOthersFactorIsFound) {
  const auto findings = clip_apart(true);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].what.site, "part1");
}

struct Adam {
  double gradient_share = 1;  // of the gradient that enters the first moment
  double square_share = 1;    // and the second
  std::string op{"adamw"};
  std::string more{};  // attributes
  double decay = 0;    // share of the parameter that the gradient gets
  double sign = 1;     // of the gradient
  trace::DType parameter = trace::DType::kFloat32;
};

std::vector<Finding> moments(const Adam& adam) {
  StepBuilder before(mesh_facts(1, 1)), after(mesh_facts(1, 1));
  const auto m0 = normal_values(512, 1), g = normal_values(512, 2), w = normal_values(512, 4);
  auto v0 = normal_values(512, 3);
  for (float& v : v0) v = v * v;
  std::vector<float> m1(512), v1(512);
  for (size_t i = 0; i < 512; ++i) {
    const double given = adam.sign * g[i] + adam.decay * w[i];
    m1[i] = static_cast<float>(kAdam[0] * m0[i] + (1 - kAdam[0]) * adam.gradient_share * given);
    v1[i] =
        static_cast<float>(kAdam[1] * v0[i] + (1 - kAdam[1]) * adam.square_share * given * given);
  }
  const std::string attributes = R"({"beta1":0.9,"beta2":0.95,"step":2)" + adam.more + "}";
  before.add(0, Phase::kUpdate, "w", "exp_avg", m0, kWhole);
  before.add(0, Phase::kUpdate, "w", "exp_avg_sq", v0, kWhole);
  after.add(0, Phase::kForward, "w", "param", w, kWhole).storage = adam.parameter;
  after.add(0, Phase::kClipped, "w", "grad", g, kWhole);
  for (const auto& [role, moment] : {std::pair{"exp_avg", m1}, std::pair{"exp_avg_sq", v1}}) {
    auto& record = after.add(0, Phase::kUpdate, "w", role, moment, kWhole);
    record.attributes = attributes;
    record.op = adam.op;
  }
  const auto previous = before.step(0);
  return findings_of("moments_recomputed", after, after.step(1), &previous);
}

TEST(MomentsRecomputed, AdamPasses) {
  EXPECT_THAT(moments({}), IsEmpty());
}
TEST(MomentsRecomputed, ScaledGradientInTheFirstMoment) {
  const auto findings = moments({1.001, 1});
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].what.role, "exp_avg");
}
TEST(MomentsRecomputed, ScaledSquareInTheSecondMoment) {
  const auto findings = moments({1, 1.001});
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].what.role, "exp_avg_sq");
}

TEST(MomentsRecomputed, AdamOfEachNameIsJudged) {
  for (const std::string judged : {"adam", "fused_adamw"})
    EXPECT_THAT(moments({-1, 1, judged}), SizeIs(1)) << judged;
}

// Two parameters with some steps of AdamW behind them; in the next, `a` is as it was, with the same
// count of updates.
struct Standing {
  bool has_gradient = true, other_moves = false, moments_move = false;
};

std::vector<Finding> standing(const Standing& is) {
  StepBuilder before(mesh_facts(1, 1)), after(mesh_facts(1, 1));
  const auto zeros = std::vector<float>(512, 0.0F);
  const auto g = normal_values(512, 2);
  std::vector<float> m0(512), m1(512);
  for (size_t i = 0; i < 512; ++i) {
    m0[i] = 0.1F * g[i];
    m1[i] = static_cast<float>(0.9 * m0[i] + 0.1 * g[i]);
  }
  const auto add = [&](StepBuilder& run, const char* site, const std::vector<float>& m, int count) {
    trace::Record& record = run.add(0, Phase::kUpdate, site, "exp_avg", m, kWhole);
    record.op = "adamw";
    record.attributes = R"({"beta1":0.9,"beta2":0.95,"step":)" + std::to_string(count) + "}";
  };
  for (const char* site : {"a", "b"}) add(before, site, m0, 4);
  if (is.has_gradient) after.add(0, Phase::kUnscaled, "a", "grad", g, kWhole);
  after.add(0, Phase::kUnscaled, "b", "grad", g, kWhole);
  add(after, "a", is.moments_move ? zeros : m0, is.moments_move ? 5 : 4);
  add(after, "b", is.other_moves ? m1 : m0, is.other_moves ? 5 : 4);
  const auto previous = before.step(0);
  return findings_of("moments_recomputed", after, after.step(1), &previous);
}

TEST(UpdatesMade, AStepThatWasSkippedIsNotJudged) {
  EXPECT_THAT(standing({}), IsEmpty());
}
TEST(UpdatesMade, AParameterWithoutGradientIsNotJudged) {
  EXPECT_THAT(standing({.has_gradient = false, .other_moves = true}), IsEmpty());
}
TEST(UpdatesMade, OneThatStandsStillWhileOthersMoveIsFound) {
  const auto findings = standing({.other_moves = true});
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0].what.site, "a");
}
TEST(UpdatesMade, OneThatMovedWronglyIsFound) {
  EXPECT_THAT(standing({.other_moves = true, .moments_move = true}), SizeIs(1));
}
TEST(MomentsRecomputed, DecayInTheGradientPasses) {
  const std::string said = R"(,"weight_decay":0.1)";
  EXPECT_THAT(moments({1, 1, "adam", said, 0.1}), IsEmpty());
  EXPECT_THAT(moments({1, 1, "adamw", said, 0}), IsEmpty());
}
TEST(MomentsRecomputed, DecayThatIsLeftOutOrPutInIsFound) {
  const std::string said = R"(,"weight_decay":0.1)";
  EXPECT_THAT(moments({1, 1, "adam", said, 0}), SizeIs(1));
  EXPECT_THAT(moments({1, 1, "adamw", said, 0.1}), SizeIs(2));
}
TEST(MomentsRecomputed, DecayOfAMasterThatIsFinerThanTheParameterIsNotJudged) {
  const Adam left_out{1, 1, "adam", R"(,"weight_decay":0.1)", 0, 1, trace::DType::kBFloat16};
  EXPECT_THAT(moments(left_out), IsEmpty());
}
TEST(MomentsRecomputed, AStepThatMaximizesTakesTheNegative) {
  EXPECT_THAT(moments({1, 1, "adam", R"(,"maximize":true)", 0, -1}), IsEmpty());
  EXPECT_THAT(moments({1, 1, "adam", R"(,"maximize":false)", 0, -1}), SizeIs(1));
}
TEST(MomentsRecomputed, StatesOfAnotherOptimizerAreNotJudged) {
  EXPECT_THAT(moments({0.5, 0.5, "Lion"}), IsEmpty());
  EXPECT_THAT(moments({0.5, 0.5, "adamw"}), SizeIs(2));
}

std::vector<Finding> rounding(bool stale) {
  StepBuilder run(mesh_facts(1, 1));
  const auto master = normal_values(512, 1);
  auto param = stale ? normal_values(512, 2) : master;
  for (float& v : param) v = to_bf16(v);
  run.add(0, Phase::kUpdate, "w", "master", master, kWhole);
  run.add(0, Phase::kUpdate, "w", "param", param, kWhole).storage = trace::DType::kBFloat16;
  return findings_of("update_recomputed", run, run.step());
}

TEST(UpdateRecomputed, RoundedMastersPass) {
  EXPECT_THAT(rounding(false), IsEmpty());
}
TEST(UpdateRecomputed, OtherParametersAreFound) {
  EXPECT_THAT(rounding(true), SizeIs(1));
}

// A weight with moments of a first step; it moves, or it ends the step as it began it.
std::vector<Finding> moved(bool moves, double learning_rate, const std::string& op = "adamw",
                           const std::string& more = "") {
  StepBuilder run(mesh_facts(1, 1));
  const auto gradient = normal_values(512, 1);
  auto weight = normal_values(512, 2);
  run.add(0, Phase::kForward, "w", "param", weight, kWhole);
  std::vector<float> m(512), v(512);
  for (size_t i = 0; i < 512; ++i) {
    m[i] = 0.1F * gradient[i];
    v[i] = 0.05F * gradient[i] * gradient[i];
    if (moves) weight[i] -= static_cast<float>(learning_rate) * (gradient[i] > 0 ? 1.F : -1.F);
  }
  run.add(0, Phase::kUpdate, "w", "exp_avg", m, kWhole);
  run.add(0, Phase::kUpdate, "w", "exp_avg_sq", v, kWhole);
  trace::Record& end = run.add(0, Phase::kUpdate, "w", "param", weight, kWhole);
  end.op = op;
  end.attributes = R"({"beta1":0.9,"beta2":0.95,"eps":1e-8,"lr":)" + std::to_string(learning_rate) +
                   R"(,"step":1,"weight_decay":0)" + more + "}";
  return findings_of("parameter_moved", run, run.step());
}

TEST(ParameterMoved, OneThatMovesPasses) {
  EXPECT_THAT(moved(true, 1e-3), IsEmpty());
}
TEST(ParameterMoved, OneThatStaysIsFound) {
  EXPECT_THAT(moved(false, 1e-3), SizeIs(1));
}
TEST(ParameterMoved, AStepThatRoundingHidesIsNotJudged) {
  EXPECT_THAT(moved(false, 0), IsEmpty());
}

TEST(ParameterMoved, OptimizersThatMayMoveLessAreNotJudged) {
  EXPECT_THAT(moved(false, 1e-3, "adam"), SizeIs(1));
  EXPECT_THAT(moved(false, 1e-3, "radam"), IsEmpty());
  EXPECT_THAT(moved(false, 1e-3, "adamw", R"(,"amsgrad":true)"), IsEmpty());
}

}  // namespace
}  // namespace nanhunt::oracle::test
