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
