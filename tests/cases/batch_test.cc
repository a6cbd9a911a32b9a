// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "cases/mini/text.h"
#include "cases/mini/weights.h"
#include "trace/error.h"

namespace nanhunt::mini {
namespace {

std::string training_text() {
  return load_text(NANHUNT_SOURCE_DIR "/cases/data/kjv.txt");
}

TEST(Batch, LabelsAreTheFollowingBytes) {
  const std::string text = training_text();
  const Batch batch = draw_batch(text, Config{}, 2);
  EXPECT_EQ(batch.sample_ids, (std::vector<int64_t>{8, 9, 10, 11}));
  EXPECT_EQ(batch.valid_tokens, 4 * 32);
  for (int64_t i = 0; i < batch.samples; ++i) {
    std::string sample;
    for (int64_t t = 0; t < 32; ++t) sample += static_cast<char>(batch.tokens[i * 32 + t]);
    sample += static_cast<char>(batch.labels[i * 32 + 31]);
    EXPECT_NE(text.find(sample), std::string::npos);
    EXPECT_EQ(batch.labels[i * 32], batch.tokens[i * 32 + 1]);
  }
}

TEST(Batch, DependsOnSeedAndStepNotOnTheLayout) {
  const std::string text = training_text();
  Config other_seed, other_layout;
  other_seed.seed = 2;
  other_layout.tp = 4;
  other_layout.dp = 2;
  other_layout.microbatches = 2;
  const auto tokens = draw_batch(text, Config{}, 1).tokens;
  EXPECT_EQ(draw_batch(text, other_layout, 1).tokens, tokens);
  EXPECT_NE(draw_batch(text, other_seed, 1).tokens, tokens);
  EXPECT_NE(draw_batch(text, Config{}, 2).tokens, tokens);
}

TEST(Batch, RaggedLengthsMaskTheRest) {
  Config config;
  config.ragged = true;
  for (int64_t step = 0; step < 20; ++step) {
    const Batch batch = draw_batch(training_text(), config, step);
    EXPECT_EQ(std::count(batch.lengths.begin(), batch.lengths.end(), 1), 1);
    EXPECT_EQ(batch.valid_tokens,
              std::accumulate(batch.lengths.begin(), batch.lengths.end(), int64_t{0}));
    for (int64_t at = 0; at < batch.samples * batch.sequence; ++at) {
      const bool counts = at % batch.sequence < batch.lengths[at / batch.sequence];
      ASSERT_EQ(batch.loss_mask[at], counts ? 1.0f : 0.0f);
      ASSERT_EQ(batch.tokens[at] != 0, counts);
      ASSERT_EQ(batch.labels[at] != 0, counts);
    }
  }
}

TEST(Batch, RefusesATextThatIsTooShort) {
  EXPECT_THROW(draw_batch(std::string(32, 'a'), Config{}, 0), trace::Error);
  EXPECT_NO_THROW(draw_batch(std::string(33, 'a'), Config{}, 0));
  EXPECT_THROW(load_text("no such file"), trace::Error);
}

// Worked out apart from this program, after the words of docs/cases.md.
TEST(Weights, AreAsDocumented) {
  const auto weight = draw_weight("output_layer.weight", 3, 0.02, 1);
  EXPECT_EQ(weight, (std::vector<float>{0x1.36ca3e0000000p-7f, 0x1.9b62900000000p-6f,
                                        -0x1.1623d80000000p-8f}));
  EXPECT_NE(draw_weight("output_layer.weight", 3, 0.02, 2), weight);
  EXPECT_NE(draw_weight("output_layer.bias", 3, 0.02, 1), weight);
}

TEST(Weights, AreNearNormal) {
  const auto weight = draw_weight("w", 100000, 2.0, 1);
  double sum = 0, squares = 0;
  int64_t beyond_two = 0;
  for (const float w : weight) {
    sum += w;
    squares += double{w} * w;
    beyond_two += std::abs(w) > 4.0f;
  }
  EXPECT_NEAR(sum / 1e5, 0.0, 0.03);
  EXPECT_NEAR(squares / 1e5, 4.0, 0.08);
  EXPECT_NEAR(static_cast<double>(beyond_two) / 1e5, 0.0455, 0.005);
}

}  // namespace
}  // namespace nanhunt::mini
