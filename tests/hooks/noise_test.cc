// SPDX-License-Identifier: Apache-2.0
// Calibration noise: bounded, reproducible, another draw for another seed or place, straight
// through for autograd, and absent where no rule plans it.
#include "hooks/noise.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <limits>

namespace nanhunt::hooks {
namespace {

constexpr double kRelative = 0x1p-8;

trace::Perturbation plan_with(uint64_t seed) {
  trace::Perturbation plan;
  plan.seed = seed;
  plan.noise = {{"quiet.**", "", "", 0.0}, {"**", "output", "forward", kRelative}};
  return plan;
}

NoisePlace place(const std::string& site) {
  return {site, trace::Phase::kForward, "output", 0, 2};
}

at::Tensor sample() {
  return at::arange(1, 401, at::kFloat).reshape({20, 20}).t();
}

TEST(Noise, BoundedAndReproducible) {
  const at::Tensor x = sample();
  const at::Tensor a = with_noise(plan_with(1), place("a"), x, std::nullopt);
  const at::Tensor relative = ((a - x) / x).abs();
  EXPECT_LE(relative.max().item<float>(), kRelative * (1 + 1e-4));
  EXPECT_GT(relative.max().item<float>(), kRelative * 0.9);
  EXPECT_LT(std::abs(((a - x) / x).mean().item<float>()), kRelative * 0.2);
  EXPECT_TRUE(at::equal(a, with_noise(plan_with(1), place("a"), x, std::nullopt)));
  EXPECT_FALSE(at::equal(a, with_noise(plan_with(2), place("a"), x, std::nullopt)));
  EXPECT_FALSE(at::equal(a, with_noise(plan_with(1), place("b"), x, std::nullopt)));
  EXPECT_TRUE(at::equal(x, sample())) << "the input is never changed";
}

// Below the normal range of a type its rounding is absolute.
TEST(Noise, NeverLessThanTheAbsoluteOneButForZeros) {
  trace::Perturbation plan = plan_with(1);
  plan.noise = {{"**", "", "", kRelative, 0x1p-25}};
  const at::Tensor small = at::full({400}, 0x1p-23, at::kFloat);
  const at::Tensor moved = with_noise(plan, place("a"), small, std::nullopt) - small;
  EXPECT_LE(moved.abs().max().item<float>(), 0x1p-25F);
  EXPECT_GT(moved.abs().max().item<float>(), 0x1p-25F * 0.9F);
  const at::Tensor zeros = at::zeros({400}, at::kFloat);
  EXPECT_TRUE(at::equal(with_noise(plan, place("a"), zeros, std::nullopt), zeros));
  const at::Tensor large = sample();
  EXPECT_TRUE(at::equal(with_noise(plan, place("a"), large, std::nullopt),
                        with_noise(plan_with(1), place("a"), large, std::nullopt)))
      << "the relative one is larger there";
}

trace::Perturbation operands_plan(uint64_t seed) {
  trace::Perturbation plan = plan_with(seed);
  plan.noise = {{"**", "", "", 0, 0, kRelative}};
  return plan;
}

double norm_of(const at::Tensor& x) {
  return x.to(at::kDouble).norm().item<double>();
}

// A small element between large ones is what large terms left that cancelled.
TEST(Noise, OfOperandsGoesByRowAndColumn) {
  at::Tensor x = at::ones({64, 64}, at::kFloat);
  x.narrow(0, 0, 1).mul_(1e-3);                  // a small row
  x.narrow(1, 5, 1).mul_(1e-6);                  // a small column
  x.narrow(0, 9, 1).narrow(1, 9, 1).mul_(1e-6);  // a small element
  const at::Tensor off = (with_noise(operands_plan(1), place("a"), x, std::nullopt) - x).abs();
  NoisePlace other = place("a");
  other.microbatch = 1;
  const at::Tensor own = (with_noise(operands_plan(1), other, x, std::nullopt) - x).abs() - off;
  const auto by_itself = [&](int row, int column) {  // without what microbatches share
    return std::abs(own[row][column].item<float>());
  };
  EXPECT_GT(by_itself(9, 9), 1e-3 * kRelative);
  EXPECT_LT(by_itself(9, 5), 1e-3 * kRelative) << "its column is small";
  EXPECT_LT(off[0].max().item<float>(), 1e-2 * kRelative) << "its row is small";
  EXPECT_NEAR(norm_of(off) / norm_of(x), kRelative / std::sqrt(3.0), 0.1 * kRelative)
      << "half of it, in squares, by element";
  EXPECT_TRUE(at::equal(with_noise(operands_plan(1), place("a"), at::zeros({4, 4}), std::nullopt),
                        at::zeros({4, 4})));
}

// What a rounded weight does to one token it does to all: a sum over tokens does not average it
// out, as it does the errors of each element by itself.
TEST(Noise, OfOperandsIsPartlyTheSameInAllRows) {
  const at::Tensor x = at::ones({4096, 8}, at::kFloat);
  const auto off_in_sum = [&](const trace::Perturbation& plan) {
    const at::Tensor sums = with_noise(plan, place("a"), x, std::nullopt).sum(0);
    return norm_of(sums - x.sum(0)) / norm_of(x.sum(0));
  };
  EXPECT_NEAR(off_in_sum(operands_plan(1)), kRelative / std::sqrt(6.0), 0.1 * kRelative);
  EXPECT_LT(off_in_sum(plan_with(1)), 0.1 * kRelative);
}

TEST(Noise, OfOperandsIsSharedByMicrobatchesToo) {
  const at::Tensor x = at::ones({4096, 8}, at::kFloat);
  const auto off_in_sum = [&](int microbatch, uint64_t seed) {
    NoisePlace here = place("a");
    here.microbatch = microbatch;
    return (with_noise(operands_plan(seed), here, x, std::nullopt) - x).sum(0) / 4096;
  };
  EXPECT_LT(norm_of(off_in_sum(0, 1) - off_in_sum(1, 1)), 0.2 * norm_of(off_in_sum(0, 1)));
  EXPECT_GT(norm_of(off_in_sum(0, 1) - off_in_sum(0, 2)), 0.2 * norm_of(off_in_sum(0, 1)));
}

TEST(Noise, OfOperandsOfAVectorHasTheSizeOfItsElements) {
  const at::Tensor x = at::ones({4096}, at::kFloat);
  const at::Tensor off = with_noise(operands_plan(1), place("a"), x, std::nullopt) - x;
  EXPECT_LE(off.abs().max().item<float>(), kRelative * (1 + 1e-3));
  EXPECT_NEAR(norm_of(off) / norm_of(x), kRelative / std::sqrt(3.0), 0.1 * kRelative);
}

TEST(Noise, OnlyWhereItIsPlanned) {
  const at::Tensor x = sample();
  EXPECT_TRUE(with_noise(plan_with(1), place("quiet.a"), x, std::nullopt).is_same(x));
  NoisePlace gradient = place("a");
  gradient.phase = trace::Phase::kBackward;
  EXPECT_TRUE(with_noise(plan_with(1), gradient, x, std::nullopt).is_same(x));
  const at::Tensor ids = at::arange(4);
  EXPECT_TRUE(with_noise(plan_with(1), place("a"), ids, std::nullopt).is_same(ids));
}

TEST(Noise, RoundsToTheTypeAndKeepsNonFinite) {
  const float inf = std::numeric_limits<float>::infinity();
  const at::Tensor x = sample();
  const at::Tensor rounded = with_noise(plan_with(1), place("a"), x, trace::DType::kBFloat16);
  EXPECT_EQ(rounded.scalar_type(), at::kFloat);
  EXPECT_TRUE(at::equal(rounded, rounded.to(at::kBFloat16).to(at::kFloat)));
  const at::Tensor odd = with_noise(plan_with(1), place("a"), at::full({3}, inf), std::nullopt);
  EXPECT_TRUE(at::equal(odd, at::full({3}, inf)));
}

TEST(Noise, GradientPassesUnchanged) {
  at::Tensor w = at::arange(1, 7, at::kFloat);
  w.requires_grad_(true);
  const at::Tensor y = w * 2;
  const at::Tensor noisy = with_noise(plan_with(1), place("a"), y, std::nullopt);
  ASSERT_FALSE(at::equal(noisy, y));
  ASSERT_TRUE(noisy.requires_grad());
  torch::autograd::backward({noisy.square().sum()}, {});
  EXPECT_TRUE(at::allclose(w.grad(), noisy.detach() * 4)) << "derivative taken at the noisy value";
}

TEST(Noise, OneUlpUpOrDown) {
  for (const auto type : {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16}) {
    const at::Tensor before = at::arange(-50, 50, at::kFloat).mul(0.37).to(type);
    at::Tensor after = before.clone();
    move_by_one_ulp(7, "w", after);
    at::Tensor again = before.clone();
    move_by_one_ulp(7, "w", again);
    EXPECT_TRUE(at::equal(after, again));
    EXPECT_TRUE(after.ne(before).all().item<bool>()) << "each element moves";
    const at::Tensor wide = before.to(at::kDouble), moved = after.to(at::kDouble);
    const double eps = type == at::kFloat    ? 0x1p-23
                       : type == at::kDouble ? 0x1p-52
                       : type == at::kHalf   ? 0x1p-10
                                             : 0x1p-7;
    EXPECT_TRUE((moved - wide).abs().le(wide.abs() * eps + 1e-7).all().item<bool>());
    const int64_t up = moved.gt(wide).sum().item<int64_t>();
    EXPECT_GT(up, 25);
    EXPECT_LT(up, 75);
  }
  at::Tensor largest = at::full({64}, std::numeric_limits<float>::max());
  move_by_one_ulp(7, "w", largest);
  EXPECT_TRUE(largest.isfinite().all().item<bool>());
}

}  // namespace
}  // namespace nanhunt::hooks
