// SPDX-License-Identifier: Apache-2.0
// Each derivative of the plain GPT against central differences of its layer, and its draws against
// those of the bundled subject.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "cases/mini/text.h"
#include "cases/mini/weights.h"
#include "cases/plain/attention.h"
#include "cases/plain/draws.h"
#include "cases/plain/layers.h"

namespace nanhunt::plain {
namespace {

Tensor random_tensor(std::vector<int64_t> shape, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1.5f, 1.5f);
  Tensor tensor = zeros(std::move(shape));
  for (float& value : tensor.values) value = uniform(random);
  return tensor;
}

double weighted_sum(const Tensor& values, const Tensor& weights) {
  double sum = 0;
  for (size_t i = 0; i < values.size(); ++i) sum += double{values[i]} * weights[i];
  return sum;
}

// Largest |derivative - central difference| over the elements of `x`, where the scalar is the sum
// of layer(x) weighted by `weights`, whose derivative with respect to x is claimed to be `claimed`.
double disagreement(const std::function<Tensor(const Tensor&)>& layer, const Tensor& x,
                    const Tensor& weights, const Tensor& claimed) {
  const double h = 1.0 / 128;
  double largest = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    Tensor above = x, below = x;
    above[i] = static_cast<float>(x[i] + h);
    below[i] = static_cast<float>(x[i] - h);
    const double width = double{above[i]} - below[i];
    const double difference =
        (weighted_sum(layer(above), weights) - weighted_sum(layer(below), weights)) / width;
    largest = std::max(largest, std::abs(difference - claimed[i]));
  }
  return largest;
}

constexpr double kTolerance = 2e-3;  // h^2 times third derivatives of order 10, and FP32 results
constexpr double kFar = 1e-2;        // what a wrong derivative must miss by

// The claimed derivative agrees; the same with one element moved does not.
void expect_derivative(const std::function<Tensor(const Tensor&)>& layer, const Tensor& x,
                       const Tensor& weights, Tensor claimed) {
  EXPECT_LT(disagreement(layer, x, weights, claimed), kTolerance);
  claimed[claimed.size() / 2] += 0.05f;
  EXPECT_GT(disagreement(layer, x, weights, claimed), kFar);
}

TEST(PlainMath, LinearDerivatives) {
  const Tensor x = random_tensor({2, 3, 5}, 1), weight = random_tensor({4, 5}, 2);
  const Tensor bias = random_tensor({4}, 3), g = random_tensor({2, 3, 4}, 4);
  expect_derivative([&](const Tensor& t) { return linear(t, weight, &bias); }, x, g,
                    linear_input_gradient(g, weight, x));
  expect_derivative([&](const Tensor& t) { return linear(x, t, &bias); }, weight, g,
                    linear_weight_gradient(g, x));
  expect_derivative([&](const Tensor& t) { return linear(x, weight, &t); }, bias, g,
                    bias_gradient(g));
}

TEST(PlainMath, NormDerivatives) {
  const Tensor x = random_tensor({1, 3, 6}, 1), weight = random_tensor({6}, 2);
  const Tensor g = random_tensor({1, 3, 6}, 3);
  expect_derivative([&](const Tensor& t) { return rms_norm(t, weight, 1e-5); }, x, g,
                    rms_norm_input_gradient(g, x, weight, 1e-5));
  expect_derivative([&](const Tensor& t) { return rms_norm(x, t, 1e-5); }, weight, g,
                    rms_norm_weight_gradient(g, x, 1e-5));
}

TEST(PlainMath, GeluIsTheErfFormAndItsDerivativeFits) {
  Tensor one = zeros({1, 1});
  one[0] = 1.0f;
  EXPECT_NEAR(gelu(one)[0], 0.84134475, 1e-7);  // Phi(1); the tanh form gives 0.841192
  const Tensor x = random_tensor({4, 4}, 1), g = random_tensor({4, 4}, 2);
  expect_derivative([](const Tensor& t) { return gelu(t); }, x, g, gelu_gradient(g, x));
}

TEST(PlainMath, AttentionDerivative) {
  const Tensor qkv = random_tensor({2, 5, 24}, 1), g = random_tensor({2, 5, 8}, 2);
  for (const bool rotary : {false, true}) {
    const AttentionShape shape{2, rotary, {5, 2}};
    expect_derivative([&](const Tensor& t) { return attention(t, shape); }, qkv, g,
                      attention_gradient(g, qkv, shape));
  }
}

TEST(PlainMath, AttentionSeesNoLaterTokenAndNoPadding) {
  Tensor qkv = random_tensor({1, 5, 12}, 1);
  const AttentionShape whole{1, true, {5}}, ragged{1, true, {3}};
  const Tensor before = attention(qkv, whole), before_ragged = attention(qkv, ragged);
  for (size_t c = 0; c < 12; ++c) qkv[3 * 12 + c] += 1.0f;  // token 3
  const Tensor after = attention(qkv, whole), after_ragged = attention(qkv, ragged);
  for (size_t c = 0; c < 4; ++c) {
    EXPECT_EQ(before[2 * 4 + c], after[2 * 4 + c]);
    EXPECT_NE(before[4 * 4 + c], after[4 * 4 + c]);
    EXPECT_EQ(before_ragged[4 * 4 + c], after_ragged[4 * 4 + c]);
  }
}

TEST(PlainMath, LookUpDerivativeAddsRepeatedIds) {
  const std::vector<int64_t> ids = {2, 0, 2};
  const Tensor table = random_tensor({3, 2}, 1), g = random_tensor({3, 2}, 2);
  expect_derivative([&](const Tensor& t) { return look_up(ids, t); }, table, g,
                    look_up_gradient(ids, g, table));
}

TEST(PlainDraws, EqualThoseOfTheBundledSubject) {
  const std::string text = mini::load_text(NANHUNT_SOURCE_DIR "/cases/data/kjv.txt");
  mini::Config config;
  Options options;
  config.ragged = options.ragged = true;
  config.seed = options.seed = 3;
  const mini::Batch theirs = mini::draw_batch(text, config, 1);
  const Batch ours = drawn_batch(text, options, 1);
  EXPECT_EQ(ours.tokens, theirs.tokens);
  EXPECT_EQ(ours.labels, theirs.labels);
  EXPECT_EQ(ours.loss_mask, theirs.loss_mask);
  EXPECT_EQ(ours.counted, theirs.valid_tokens);
  EXPECT_EQ(drawn_weight("w", {3, 4}, 0.02, 3).values, mini::draw_weight("w", 12, 0.02, 3));
  EXPECT_NE(drawn_batch(text, options, 2).tokens, theirs.tokens);
}

}  // namespace
}  // namespace nanhunt::plain
