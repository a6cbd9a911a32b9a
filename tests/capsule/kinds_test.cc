// SPDX-License-Identifier: Apache-2.0
#include "capsule/kinds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

namespace nanhunt::capsule {
namespace {

TEST(Kinds, ByNameOfSiteAndRole) {
  EXPECT_EQ(kind_of("decoder.layers.0.mlp.linear_fc1.weight", "param"), Kind::kParameters);
  EXPECT_EQ(kind_of("decoder.layers.0.mlp.linear_fc1.weight", "master"), Kind::kMasters);
  EXPECT_EQ(kind_of("decoder.layers.0.mlp.linear_fc1.weight", "exp_avg_sq"), Kind::kMoments);
  EXPECT_EQ(kind_of("decoder.layers.0.mlp.linear_fc1.weight", "momentum_buffer"), Kind::kMoments);
  EXPECT_EQ(kind_of("decoder.layers.0.mlp.linear_fc1.weight", "step"), Kind::kOptimizerStep);
  EXPECT_EQ(kind_of("optimizer", "step"), Kind::kOptimizerStep);
  EXPECT_EQ(kind_of("optimizer.groups.1", "lr"), Kind::kGroups);
  EXPECT_EQ(kind_of("schedule", "last_epoch"), Kind::kSchedule);
  EXPECT_EQ(kind_of("scaler", "growth_tracker"), Kind::kScaler);
  EXPECT_EQ(kind_of("decoder.layers.0.mlp.linear_fc1", "fp8_amax_history"), Kind::kFp8);
  EXPECT_EQ(kind_of("rng.cuda.0", "state"), Kind::kRng);
  EXPECT_EQ(kind_of("rng.counter", "seed"), Kind::kCounters);
  EXPECT_EQ(kind_of("data", "epoch"), Kind::kCursor);
  EXPECT_EQ(kind_of("data.batch", "tokens"), Kind::kBatch);
  EXPECT_EQ(kind_of("data.sampler", "state"), Kind::kSampler);
  EXPECT_EQ(kind_of("norm", "buffer"), Kind::kModelState);
}

TEST(Kinds, AModuleWhoseNameBeginsAlikeIsAnother) {
  EXPECT_EQ(kind_of("data_embedding.weight", "param"), Kind::kParameters);
  EXPECT_EQ(kind_of("rngnet.weight", "param"), Kind::kParameters);
  EXPECT_EQ(kind_of("scalers.weight", "exp_avg"), Kind::kMoments);
}

TEST(Kinds, EachSaysWhatIsLostWithoutIt) {
  std::set<std::string_view> names;
  for (const KindFacts& facts : all_kinds()) {
    EXPECT_EQ(facts_of(facts.kind).name, facts.name);
    EXPECT_FALSE(facts.lost.empty()) << facts.name;
    names.insert(facts.name);
  }
  EXPECT_EQ(names.size(), all_kinds().size());
}

TEST(Kinds, OnlyStreamsAndHistoriesAreBoundToALayout) {
  for (const KindFacts& facts : all_kinds())
    EXPECT_EQ(facts.layout_bound,
              facts.kind == Kind::kRng || facts.kind == Kind::kFp8 || facts.kind == Kind::kSampler)
        << facts.name;
}

}  // namespace
}  // namespace nanhunt::capsule
