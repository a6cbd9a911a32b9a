// SPDX-License-Identifier: Apache-2.0
// Findings in the values of one checkpoint, each with a healthy twin.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/checkpoint/small_checkpoint.h"
#include "tests/support/scratch_folder.h"

namespace nanhunt::checkpoint::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();
const std::string kProjection = "model.layers.1.self_attn.k_proj.weight";

class Values : public testing::Test {
 protected:
  std::vector<std::string> findings() { return told(report()); }
  Report report() {
    draft_.write(file_);
    return scan_with(file_);
  }

  ScratchFolder folder_;
  fs::path file_ = folder_ / "model.safetensors";
  Draft draft_ = healthy_model(3, 1);
};

TEST_F(Values, HealthyOnesAreClean) {
  add_states(&draft_, 3, 1, 5);
  const Report clean = report();
  EXPECT_THAT(told(clean), IsEmpty());
  EXPECT_EQ(clean.kind, compare::VerdictKind::kClean);
}

TEST_F(Values, NanIsFoundWithItsPlace) {
  draft_.set(kProjection, 11, kNan).set(kProjection, 60, kInf);
  const Report found = report();
  EXPECT_THAT(told(found), ElementsAre("non_finite " + kProjection + " proven"));
  EXPECT_EQ(found.kind, compare::VerdictKind::kNonFinite);
  const Finding& finding = found.findings[0];
  EXPECT_EQ(finding.file, "model.safetensors");
  EXPECT_EQ(finding.affected, 2);
  EXPECT_EQ(finding.elements, 64);
  EXPECT_EQ(finding.first->index, 11);
  EXPECT_THAT(finding.place, ElementsAre(1, 3));
  EXPECT_EQ(finding.first->number.text, "NaN");
  EXPECT_EQ(finding.evidence, "NaN 1, Inf 1");
}

TEST_F(Values, NanBehindTheFirstWindowIsFound) {
  const int64_t elements = kWindowBytes / 4 + 100;
  draft_.random("big.weight", {elements / 4, 4}, 9);
  EXPECT_THAT(findings(), IsEmpty());
  draft_.set("big.weight", elements / 4 * 4 - 1, kNan);
  const Report found = report();
  ASSERT_EQ(found.findings.size(), 1u);
  EXPECT_EQ(found.findings[0].first->index, elements / 4 * 4 - 1);
}

struct Codes {
  std::string type, finite, spoilt;  // two elements each
};
class EachType : public Values, public testing::WithParamInterface<Codes> {};

TEST_P(EachType, IsSearchedForWhatIsNotFinite) {
  draft_.add("one.weight", GetParam().type, {2}, GetParam().finite);
  EXPECT_THAT(findings(), IsEmpty());
  draft_.add("one.weight", GetParam().type, {2}, GetParam().spoilt);
  const Report found = report();
  ASSERT_EQ(told(found), std::vector<std::string>{"non_finite one.weight proven"});
  EXPECT_EQ(found.findings[0].first->index, 1);
}

template <class T>
Codes codes(const std::string& type, T finite, T spoilt) {
  return {type, bytes_of(std::vector<T>{finite, finite}), bytes_of(std::vector<T>{finite, spoilt})};
}

INSTANTIATE_TEST_SUITE_P(
    Types, EachType,
    testing::Values(codes<double>("F64", 1, kInf), codes<float>("F32", 1, -kInf),
                    codes<uint16_t>("F16", 0x7BFF, 0x7C00), codes<uint16_t>("BF16", 0x7F7F, 0xFF80),
                    codes<uint8_t>("F8_E4M3", 0x7E, 0xFF), codes<uint8_t>("F8_E5M2", 0x7B, 0x7D),
                    codes<uint8_t>("F8_E8M0", 0xFE, 0xFF),
                    codes<uint8_t>("F8_E4M3FNUZ", 0x7F, 0x80),
                    codes<uint8_t>("F8_E5M2FNUZ", 0xFF, 0x80),
                    Codes{"C64", bytes_of(std::vector<float>{1, 2, 3, 4}),
                          bytes_of(std::vector<float>{1, 2, 3, kNan})}),
    [](const auto& one) { return one.param.type; });

TEST_F(Values, IntegersAndPackedCodesAreNeverNonFinite) {
  const std::string ones(8, '\xFF');
  for (const char* type : {"I8", "U8", "BOOL", "F4"}) {
    draft_.add("t", type, {std::string(type) == "F4" ? 16 : 8}, ones);
    EXPECT_THAT(findings(), IsEmpty()) << type;
  }
  draft_.add("t", "I64", {1}, ones);
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(Values, InfIsByDesignInMasksAndObservers) {
  draft_.filled("attn.causal_mask", {4, 4}, -kInf).filled("act.min_val", {1}, kInf);
  draft_.filled("act.max_val", {1}, -kInf);
  EXPECT_THAT(findings(), IsEmpty());
  draft_.filled("attn.causal_mask", {4, 4}, kNan);
  EXPECT_THAT(findings(), ElementsAre("non_finite attn.causal_mask proven"));
  draft_.filled("attn.causal_mask", {4, 4}, kInf).filled("act.min_val", {1}, -kInf);
  EXPECT_THAT(findings(),
              ElementsAre("non_finite attn.causal_mask proven", "non_finite act.min_val proven"));
}

TEST_F(Values, NegativeSecondMomentIsProven) {
  const std::string name = "optimizer.layers.1.k_proj.exp_avg_sq";
  add_states(&draft_, 3, 1, 5);
  draft_.set(name, 0, -0.0f);
  EXPECT_THAT(findings(), IsEmpty());
  draft_.set(name, 9, -1e-30f);
  const Report found = report();
  EXPECT_THAT(told(found), ElementsAre("negative_second_moment " + name + " proven"));
  EXPECT_EQ(found.findings[0].affected, 1);
  EXPECT_THAT(found.findings[0].place, ElementsAre(1, 1));
}

TEST_F(Values, AllZeroWeightIsSuspicious) {
  draft_.filled(kProjection, {8, 8}, 0.0f).set(kProjection, 3, -0.0f);
  const Report found = report();
  EXPECT_THAT(told(found), ElementsAre("all_zero " + kProjection + " suspicious"));
  EXPECT_EQ(found.kind, compare::VerdictKind::kDivergence);
  draft_.set(kProjection, 63, 1e-45f);
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(Values, ZeroByDesignIsNoFinding) {
  draft_.filled("model.layers.0.self_attn.v_proj.bias", {8}, 0.0f);
  draft_.filled("model.layers.0.input_layernorm.weight", {8}, 0.0f);
  draft_.filled("base.layers.0.q_proj.lora_B.default.weight", {8, 4}, 0.0f);
  draft_.filled("token_type_embeddings.weight", {1, 768}, 0.0f);
  draft_.filled("controlnet.zero_conv.0.weight", {4, 4, 1, 1}, 0.0f);
  draft_.filled("attention.mask", {8, 8}, 0.0f);
  draft_.add("empty.weight", "F32", {0, 8}, "");
  for (int row = 0; row < 4; ++row) draft_.set("model.embed_tokens.weight", row, 0.0f);
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(Values, MomentThatIsZeroAfterStepsIsSuspicious) {
  add_states(&draft_, 3, 1, 5);
  for (const char* moment : {"exp_avg", "exp_avg_sq"}) {
    const std::string name = "optimizer.layers.2.k_proj." + std::string(moment);
    const Draft healthy = draft_;
    draft_.filled(name, {8, 8}, 0.0f);
    EXPECT_THAT(findings(), ElementsAre("zero_moment " + name + " suspicious"));
    draft_ = healthy;
  }
  // Before the first step all of them are.
  add_states(&draft_, 3, 1, 0);
  for (const char* layer : {"0", "1", "2"}) {
    const std::string name = "optimizer.layers." + std::string(layer) + ".k_proj.";
    draft_.filled(name + "exp_avg", {8, 8}, 0.0f).filled(name + "exp_avg_sq", {8, 8}, 0.0f);
  }
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(Values, MomentThatIsZeroAmongOthersIsSuspiciousWithoutACounter) {
  add_states(&draft_, 3, 1, 5);
  for (const char* layer : {"0", "1", "2"})
    draft_.remove("optimizer.layers." + std::string(layer) + ".k_proj.step");
  draft_.filled("optimizer.layers.2.k_proj.exp_avg_sq", {8, 8}, 0.0f);
  EXPECT_THAT(findings(),
              ElementsAre("zero_moment optimizer.layers.2.k_proj.exp_avg_sq suspicious"));
  for (const char* layer : {"0", "1"})
    draft_.filled("optimizer.layers." + std::string(layer) + ".k_proj.exp_avg_sq", {8, 8}, 0.0f);
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(Values, ConstantWeightIsSuspicious) {
  draft_.filled(kProjection, {8, 8}, 0.25f);
  const Report found = report();
  EXPECT_THAT(told(found), ElementsAre("constant " + kProjection + " suspicious"));
  EXPECT_EQ(found.findings[0].first->number.text, "0.25");
  draft_.set(kProjection, 5, 0.5f);
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(Values, ConstantByDesignIsNoFinding) {
  draft_.filled("model.layers.0.input_layernorm.weight", {8}, 1.0f);
  draft_.filled("model.layers.0.mlp.weight_scale_inv", {4, 4}, 0.5f);
  draft_.filled("bn.running_mean", {8, 8}, 2.0f);
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(Values, DuplicatedLayerIsOneFinding) {
  draft_.copy("model.layers.1.self_attn.k_proj.weight", "model.layers.2.self_attn.k_proj.weight");
  draft_.copy("model.layers.1.self_attn.v_proj.weight", "model.layers.2.self_attn.v_proj.weight");
  const Report found = report();
  ASSERT_EQ(found.findings.size(), 1u);
  EXPECT_EQ(found.findings[0].rule, "duplicate");
  EXPECT_THAT(found.findings[0].tensor, HasSubstr("model.layers.2."));
  EXPECT_THAT(found.findings[0].peers[0].tensor, HasSubstr("model.layers.1."));
  EXPECT_THAT(found.findings[0].evidence, HasSubstr("with it 1 further tensor of these two"));
  draft_.set("model.layers.2.self_attn.k_proj.weight", 0, 3.0f);
  draft_.set("model.layers.2.self_attn.v_proj.weight", 0, 3.0f);
  EXPECT_THAT(findings(), IsEmpty());
}

TEST_F(Values, ModuleTakenTwiceIsFound) {
  draft_.copy(kProjection, "model.layers.1.self_attn.v_proj.weight");
  EXPECT_THAT(findings(),
              ElementsAre("duplicate model.layers.1.self_attn.v_proj.weight suspicious"));
}

TEST_F(Values, CopiesByDesignAreNoDuplicates) {
  draft_.copy("model.embed_tokens.weight", "lm_head.weight");
  // An average of the weights, and the same norm in every layer.
  for (const char* layer : {"0", "1", "2"}) {
    const std::string name = "layers." + std::string(layer) + ".self_attn.k_proj.weight";
    draft_.copy("model." + name, "ema." + name);
    draft_.random("model.layers." + std::string(layer) + ".lookup_table", {16, 16}, 77);
    draft_.random("model.layers." + std::string(layer) + ".input_layernorm.weight", {8}, 78);
  }
  for (const char* expert : {"0", "1", "2", "3"}) {
    draft_.random("model.layers.0.experts." + std::string(expert) + ".w1.weight", {8, 8}, 79);
  }
  EXPECT_THAT(findings(), IsEmpty());
  draft_.random("model.layers.0.experts.3.w1.weight", {8, 8}, 80);
  EXPECT_EQ(findings().size(), 2u) << "three of four experts are no upcycling";
}

}  // namespace
}  // namespace nanhunt::checkpoint::test
