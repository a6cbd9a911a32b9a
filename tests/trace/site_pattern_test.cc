// SPDX-License-Identifier: Apache-2.0
#include "trace/site_pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/rules_file.h"

namespace nanhunt::trace {
namespace {

using testing::ElementsAre;

TEST(SitePattern, StarIsOneComponent) {
  std::vector<std::string> captures;
  EXPECT_TRUE(match_site("model.layers.*.q_proj", "model.layers.11.q_proj", &captures));
  EXPECT_THAT(captures, ElementsAre("11"));
  EXPECT_FALSE(match_site("model.layers.*.q_proj", "model.layers.11.attn.q_proj", &captures));
  EXPECT_FALSE(match_site("model.layers.*.q_proj", "model.layers.q_proj", &captures));
  EXPECT_FALSE(match_site("model.*", "model", nullptr));
  EXPECT_FALSE(match_site("layer_*", "layer_3", nullptr));  // no part of a component
  EXPECT_THAT(captures, ElementsAre());
}

TEST(SitePattern, TwoStarsAreAnyNumberOfComponents) {
  std::vector<std::string> captures;
  EXPECT_TRUE(match_site("**.mlp.*", "decoder.layers.3.mlp.fc1", &captures));
  EXPECT_THAT(captures, ElementsAre("decoder.layers.3", "fc1"));
  EXPECT_TRUE(match_site("**.mlp", "mlp", &captures));
  EXPECT_THAT(captures, ElementsAre(""));
  EXPECT_TRUE(match_site("**", "a.b", &captures));
  EXPECT_THAT(captures, ElementsAre("a.b"));
  EXPECT_TRUE(match_site("a.**.a.**", "a.b.a.a", &captures));
  EXPECT_THAT(captures, ElementsAre("b", "a"));
  EXPECT_FALSE(match_site("**.mlp", "mlp.fc1", nullptr));
}

TEST(SitePattern, TargetTakesCaptures) {
  EXPECT_EQ(fill_target("decoder.$2.x$1", {"3", "mlp"}), "decoder.mlp.x3");
  EXPECT_EQ(fill_target("$1.mlp", {""}), "mlp");
  EXPECT_EQ(fill_target("plain", {}), "plain");
  EXPECT_EQ(count_stars("a.*.**.b*"), 2u);
}

TEST(SitePattern, WrongTargetIsNamed) {
  EXPECT_EQ(target_fault("a.$1.$2", 2), "");
  EXPECT_THAT(target_fault("a.$3", 2), testing::HasSubstr("star number 3"));
  EXPECT_THAT(target_fault("a.$", 2), testing::HasSubstr("must be followed"));
  EXPECT_THAT(target_fault("a.$0", 2), testing::HasSubstr("must be followed"));
}

}  // namespace
}  // namespace nanhunt::trace
